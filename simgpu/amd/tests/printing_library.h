// The device side of printf, for tests without ROCm's device library. It follows the protocol that
// AMD publishes: the packets, the messages and the records of ROCm-Device-Libs (hostcall_impl.cl,
// services.cl, cprintf.cl) and of clr (devhostcall.cpp, devhcmessages.cpp, rocprintf.cpp).
#define LIBRARY extern "C" __attribute__((device)) __attribute__((used))
#define GLOBAL __attribute__((address_space(1)))
typedef unsigned u32;
typedef unsigned long u64_;

DEVICE u64_* implicit_argument(int at) {
    return (u64_*)((u64_ __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr())[at];
}

struct Header {
    u64_ next, active;
    u32 service, control;
};

struct Buffer {
    Header* headers;
    u64_ (*payloads)[64][8];
    u64_ doorbell, free_stack, ready_stack, index_mask;
};

struct Signal {
    u64_ kind, value;
    u64_* mailbox;
    u32 event;
};

DEVICE u64_ atomic_load(u64_* at) { return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM); }

DEVICE bool atomic_swap(u64_* at, u64_* old, u64_ value) {
    return __hip_atomic_compare_exchange_strong(at, old, value, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                                __HIP_MEMORY_SCOPE_SYSTEM);
}

DEVICE void push(u64_* top, u64_ pointer, Header* header) {
    u64_ first = atomic_load(top);
    do {
        header->next = first;
    } while (!atomic_swap(top, &first, pointer));
}

DEVICE u64_ first_lanes(u64_ value) {
    return (u64_)(u32)__builtin_amdgcn_readfirstlane((u32)value) |
           (u64_)(u32)__builtin_amdgcn_readfirstlane((u32)(value >> 32)) << 32;
}

// Calls the host with eight words for each active lane. Returns the first word of the answer.
extern "C" __attribute__((device)) __attribute__((noinline)) u64_ call_host(u32 service, u64_ a, u64_ b, u64_ c,
                                                                           u64_ d, u64_ e, u64_ f, u64_ g, u64_ h) {
    Buffer* buffer = (Buffer*)implicit_argument(10);
    u32 me = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    u32 leader = __builtin_amdgcn_readfirstlane(me);
    u64_ pointer = 0;
    if (me == leader) {
        pointer = atomic_load(&buffer->free_stack);
        while (!atomic_swap(&buffer->free_stack, &pointer,
                            atomic_load(&buffer->headers[pointer & buffer->index_mask].next)))
            __builtin_amdgcn_s_sleep(1);
    }
    pointer = first_lanes(pointer);
    Header* header = buffer->headers + (pointer & buffer->index_mask);
    u64_* slot = buffer->payloads[pointer & buffer->index_mask][me];
    u64_ active = __builtin_amdgcn_read_exec();
    if (me == leader) {
        header->service = service;
        header->active = active;
        header->control = 1;
    }
    slot[0] = a, slot[1] = b, slot[2] = c, slot[3] = d, slot[4] = e, slot[5] = f, slot[6] = g, slot[7] = h;
    if (me == leader) {
        push(&buffer->ready_stack, pointer, header);
        Signal* signal = (Signal*)buffer->doorbell;
        __hip_atomic_fetch_add(&signal->value, 1ul, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
        if (signal->mailbox) {
            __hip_atomic_store(signal->mailbox, (u64_)signal->event, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
            __builtin_amdgcn_s_sendmsg(1, __builtin_amdgcn_readfirstlane(signal->event) & 0xff);
        }
    }
    u32 waits = 1;
    while (waits) {
        if (me == leader)
            waits = __hip_atomic_load(&header->control, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) & 1;
        waits = __builtin_amdgcn_readfirstlane(waits);
        __builtin_amdgcn_s_sleep(1);
    }
    u64_ answer = ((volatile u64_*)slot)[0];
    if (me == leader) push(&buffer->free_stack, pointer + buffer->index_mask + 1, header);
    return answer;
}

#define MESSAGE(descriptor, count, a, b, c, d, e, f, g) \
    call_host(2, ((descriptor) & ~0xe0ul) | (u64_)(count) << 5, a, b, c, d, e, f, g)

LIBRARY u64_ __ockl_printf_begin(u64_ control) { return MESSAGE(1, 1, control, 0, 0, 0, 0, 0, 0); }

LIBRARY u64_ __ockl_printf_append_args(u64_ descriptor, u32 count, u64_ a, u64_ b, u64_ c, u64_ d, u64_ e, u64_ f,
                                       u64_ g, u32 last) {
    return MESSAGE(descriptor | (last ? 2 : 0), count, a, b, c, d, e, f, g);
}

// Eight bytes of a text, with zeros after its end.
DEVICE u64_ word(const char* text, u64_ length, u64_ at) {
    u64_ bytes = 0;
    for (u64_ i = at; i < at + 8 && i < length; i++) bytes |= (u64_)(unsigned char)text[i] << i % 8 * 8;
    return bytes;
}

LIBRARY u64_ __ockl_printf_append_string_n(u64_ descriptor, const char* text, u64_ length, u32 last) {
    if (!text) return MESSAGE(descriptor | (last ? 2 : 0), 1, 0, 0, 0, 0, 0, 0, 0);
    for (;;) {
        u64_ part = length < 56 ? length : 56;
        length -= part;
        descriptor = MESSAGE(descriptor | (last && !length ? 2 : 0), (part + 7) / 8, word(text, part, 0),
                             word(text, part, 8), word(text, part, 16), word(text, part, 24), word(text, part, 32),
                             word(text, part, 40), word(text, part, 48));
        text += part;
        if (!length) return descriptor;
    }
}

LIBRARY GLOBAL char* __printf_alloc(u32 bytes) {
    u32* buffer = (u32*)implicit_argument(9);
    u32 used = __hip_atomic_load(buffer, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    do {
        if (8 + used + bytes > buffer[1]) return (GLOBAL char*)0;
    } while (!__hip_atomic_compare_exchange_strong(buffer, &used, used + bytes, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
    return (GLOBAL char*)buffer + 8 + used;
}
