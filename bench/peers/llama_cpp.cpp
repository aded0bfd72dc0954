// Times the quantized rows of isobit-bench that llama.cpp's library ggml also has, in the same way:
// `llama_cpp OUT.json [OPS [DEVICE]]`.
//
// Rows have the same names as in the benchmark, so `isobit-bench --peers OUT.json` can show both.
// Measure both on the same machine, one after the other. OPS is a comma-separated list of parts of
// names. DEVICE is a name that ggml gives, such as CUDA1; by default it is the first GPU. With
// GRAPHS=1 in the environment, calls are replayed from a CUDA graph, as llama.cpp does when it
// makes tokens, and the library is named "llama.cpp+graphs".
//
// It calls ggml's public interface only, and is built with a checkout of llama.cpp:
//
//     cmake -S llama.cpp -B build -DGGML_CUDA=ON -DCMAKE_BUILD_TYPE=Release
//     cmake --build build --target ggml -j
//     g++ -std=c++17 -O2 -Illama.cpp/ggml/include llama_cpp.cpp -o llama_cpp
//         -Lbuild/bin -lggml -lggml-base -Wl,-rpath,$PWD/build/bin

#include "ggml-backend.h"
#include "ggml.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

constexpr int TIMINGS = 5, LAUNCHES = 20;
constexpr int64_t SIDE = 4096, EXPERTS = 8, TOP = 2;
// A timing takes at least so long, because a clock on the host also counts the wait for its end.
constexpr double LEAST_US = 10000;

// Those of isobit-bench, without the formats of activations: ggml has no kernels for q8_1 as a
// matrix, and none for q8_k on GPUs, though its CUDA backend says that it multiplies it.
constexpr ggml_type FORMATS[] = {
    GGML_TYPE_Q4_0,    GGML_TYPE_Q4_1,   GGML_TYPE_Q5_0,  GGML_TYPE_Q5_1,    GGML_TYPE_Q8_0,  GGML_TYPE_Q2_K,
    GGML_TYPE_Q3_K,    GGML_TYPE_Q4_K,   GGML_TYPE_Q5_K,  GGML_TYPE_Q6_K,    GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS,
    GGML_TYPE_TQ1_0,   GGML_TYPE_TQ2_0,  GGML_TYPE_MXFP4, GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S,
    GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,  GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M,   GGML_TYPE_NVFP4,
};

// Values from -2 to 2, the same as in isobit-bench.
std::vector<float> numbers(size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++) {
        values[i] = float((uint32_t(i) * 2654435761u) >> 8) / float(1 << 22) - 2;
    }
    return values;
}

// A few rows of blocks, which matrices repeat: some formats take long to make on the CPU.
std::vector<uint8_t> blocks(ggml_type format) {
    constexpr int64_t ROWS = 16;
    const std::vector<float> values = numbers(ROWS * SIDE), importance(SIDE, 1);
    std::vector<uint8_t> bytes(ROWS * ggml_row_size(format, SIDE));
    ggml_quantize_chunk(format, values.data(), bytes.data(), 0, ROWS, SIDE, importance.data());
    return bytes;
}

template <class T> void fill(ggml_tensor * tensor, const std::vector<T> & values) {
    const size_t all = ggml_nbytes(tensor), some = values.size() * sizeof(T);
    for (size_t at = 0; at < all; at += some) {
        ggml_backend_tensor_set(tensor, values.data(), at, std::min(some, all - at));
    }
}

using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using Buffer = std::unique_ptr<std::remove_pointer_t<ggml_backend_buffer_t>, decltype(&ggml_backend_buffer_free)>;

// Operands, and the calls of the library that do the work of one row with them.
struct Work {
    Context ctx;
    std::vector<std::pair<ggml_tensor *, std::vector<int32_t>>> ids;
    std::vector<ggml_tensor *> ways;

    Work() : ctx(ggml_init({64 * ggml_tensor_overhead() + ggml_graph_overhead() * 4, nullptr, true}), &ggml_free) {}

    ggml_tensor * floats(int64_t a, int64_t b, int64_t c = 1) {
        return ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, a, b, c);
    }

    ggml_tensor * matrix(ggml_type format, int64_t count = 1) {
        return ggml_new_tensor_3d(ctx.get(), format, SIDE, SIDE, count);
    }

    ggml_tensor * indices(int64_t a, int64_t b, const std::function<int32_t(int32_t)> & index) {
        ids.emplace_back(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, a, b), std::vector<int32_t>(a * b));
        for (int32_t i = 0; i < a * b; i++) {
            ids.back().second[i] = index(i);
        }
        return ids.back().first;
    }

    ggml_tensor * each_row() {
        return indices(SIDE, 1, [](int32_t i) { return i; });
    }
};

class Bench {
  public:
    Bench(ggml_backend_t backend, std::string source, const std::string & ops)
        : backend(backend), source(std::move(source)) {
        std::stringstream list(ops);
        for (std::string part; std::getline(list, part, ',');) {
            wanted.push_back(part);
        }
    }

    void measure(ggml_type type) {
        format = type;
        seed.clear();
        of_format({"quantize_"}, "4096x4096", [&](Work & work) {
            ggml_tensor *x = work.floats(SIDE, SIDE), *w = work.matrix(format);
            work.ways = {
                ggml_cpy(work.ctx.get(), x, w),
                ggml_set_rows(work.ctx.get(), w, x, work.each_row()),
            };
        });
        of_format({"dequantize_"}, "4096x4096", [&](Work & work) {
            ggml_tensor *w = work.matrix(format), *x = work.floats(SIDE, SIDE);
            work.ways = {
                ggml_cpy(work.ctx.get(), w, x),
                ggml_get_rows(work.ctx.get(), w, work.each_row()),
            };
        });
        // ggml quantizes the activations of every product, so its time also stands beside products
        // of float activations.
        for (int64_t m : {1, 4, 8, 16, 64, 512, 4096}) {
            of_format({"qmatmul_q8_1_", "qmatmul_"}, "[" + std::to_string(m) + ",4096]@[4096,4096]", [&](Work & work) {
                work.ways = {ggml_mul_mat(work.ctx.get(), work.matrix(format), work.floats(SIDE, m))};
            });
        }
        for (int64_t tokens : {1, 8, 64}) {
            const std::string work_name = "[" + std::to_string(tokens) + ",2 of 8,4096]@[4096,4096]";
            of_format({"qmatmul_id_q8_1_", "qmatmul_id_"}, work_name, [&](Work & work) {
                ggml_tensor * ids = work.indices(TOP, tokens, [](int32_t i) { return i * 5 % int32_t(EXPERTS); });
                ggml_tensor * x = work.floats(SIDE, 1, tokens);
                work.ways = {ggml_mul_mat_id(work.ctx.get(), work.matrix(format, EXPERTS), x, ids)};
            });
        }
    }

    void write(const char * path) const {
        FILE * file = std::fopen(path, "w");
        if (!file) {
            throw std::runtime_error(std::string(path) + " cannot be written");
        }
        std::fprintf(file, "{\n \"source\": \"%s\",\n \"rows\": [", source.c_str());
        for (size_t i = 0; i < rows.size(); i++) {
            const Row & row = rows[i];
            std::fprintf(file, "%s\n  {\"op\": \"%s\", \"dtype\": \"f32\", \"work\": \"%s\", \"us\": %.3f}", i ? "," : "",
                         row.op.c_str(), row.work.c_str(), row.us);
        }
        std::fprintf(file, "\n ]\n}\n");
        if (std::fclose(file) != 0) {
            throw std::runtime_error(std::string(path) + " cannot be written");
        }
        for (const std::string & op : missing) {
            std::fprintf(stderr, "note: ggml has no %s on this device\n", op.c_str());
        }
    }

  private:
    struct Row {
        std::string op, work;
        double us;
    };

    ggml_backend_t backend;
    std::string source;
    std::vector<std::string> wanted;
    ggml_type format = GGML_TYPE_COUNT;
    std::vector<uint8_t> seed;
    std::vector<Row> rows;
    std::set<std::string> missing;

    // Measures what one or more rows of the format do, by the fastest way that the device has.
    void of_format(std::vector<std::string> ops, const std::string & work_name,
                   const std::function<void(Work &)> & build) {
        const auto is_wanted = [&](const std::string & op) {
            return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string & part) {
                       return op.find(part) != std::string::npos;
                   });
        };
        for (std::string & op : ops) {
            for (const char * c = ggml_type_name(format); *c; c++) {
                op += char(std::tolower(*c));
            }
        }
        ops.erase(std::remove_if(ops.begin(), ops.end(), std::not_fn(is_wanted)), ops.end());
        if (ops.empty()) {
            return;
        }
        Work work;
        build(work);
        const auto is_missing = [&](ggml_tensor * node) { return !ggml_backend_supports_op(backend, node); };
        work.ways.erase(std::remove_if(work.ways.begin(), work.ways.end(), is_missing), work.ways.end());
        if (work.ways.empty()) {
            missing.insert(ops.begin(), ops.end());
            return;
        }
        const Buffer buffer(ggml_backend_alloc_ctx_tensors(work.ctx.get(), backend), &ggml_backend_buffer_free);
        if (!buffer) {
            throw std::runtime_error("no memory for " + ops[0]);
        }
        fill_operands(work);
        double us = INFINITY;
        for (ggml_tensor * node : work.ways) {
            us = std::min(us, time_us(work.ctx.get(), node));
        }
        for (const std::string & op : ops) {
            rows.push_back({op, work_name, us});
            std::printf("%-24s f32      %-26s %10.2f us\n", op.c_str(), work_name.c_str(), us);
        }
        std::fflush(stdout);
    }

    void fill_operands(Work & work) {
        if (seed.empty()) {
            seed = blocks(format);
        }
        const std::vector<float> values = numbers(1 << 20);
        for (ggml_tensor * t = ggml_get_first_tensor(work.ctx.get()); t; t = ggml_get_next_tensor(work.ctx.get(), t)) {
            if (t->type == format && !t->view_src) {
                fill(t, seed);
            } else if (t->type == GGML_TYPE_F32 && !t->view_src) {
                fill(t, values);
            }
        }
        for (const auto & [tensor, indices] : work.ids) {
            fill(tensor, indices);
        }
    }

    // Returns the median microseconds per call of a node, which is in a graph many times.
    double time_us(ggml_context * ctx, ggml_tensor * node) {
        ggml_cgraph * graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, node);
        for (int i = 1; i < LAUNCHES; i++) {
            ggml_graph_add_node(graph, node);
        }
        // The first calls of a graph are direct, then it is recorded.
        run_us(graph, 3);
        const int calls = std::max(1, int(std::ceil(LEAST_US / run_us(graph, 1))));
        std::vector<double> times;
        for (int i = 0; i < TIMINGS; i++) {
            times.push_back(run_us(graph, calls) / (double(calls) * LAUNCHES));
        }
        std::sort(times.begin(), times.end());
        return times[TIMINGS / 2];
    }

    double run_us(ggml_cgraph * graph, int calls) {
        ggml_backend_synchronize(backend);
        const int64_t start = ggml_time_us();
        for (int i = 0; i < calls; i++) {
            if (ggml_backend_graph_compute_async(backend, graph) != GGML_STATUS_SUCCESS) {
                throw std::runtime_error("ggml could not compute a row");
            }
        }
        ggml_backend_synchronize(backend);
        return double(std::max<int64_t>(1, ggml_time_us() - start));
    }
};

}  // namespace

int main(int argc, char ** argv) try {
    if (argc < 2 || argc > 4) {
        std::fprintf(stderr, "usage: llama_cpp OUT.json [OPS [DEVICE]]\n");
        return 2;
    }
    const char * graphs = std::getenv("GRAPHS");
    const bool is_replayed = graphs && std::string(graphs) == "1";
    if (!is_replayed) {
        setenv("GGML_CUDA_DISABLE_GRAPHS", "1", 1);
    }
    ggml_time_init();
    ggml_backend_load_all();
    const ggml_backend_dev_t device =
        argc > 3 ? ggml_backend_dev_by_name(argv[3]) : ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
    const ggml_backend_t backend = device ? ggml_backend_dev_init(device, nullptr) : nullptr;
    if (!backend) {
        throw std::runtime_error("ggml has no such device");
    }
    const std::string source = std::string(is_replayed ? "llama.cpp+graphs" : "llama.cpp") + " (ggml " + ggml_version() +
                               ", " + ggml_backend_dev_name(device) + ")";
    Bench bench(backend, source, argc > 2 ? argv[2] : "");
    for (ggml_type format : FORMATS) {
        bench.measure(format);
    }
    bench.write(argv[1]);
    ggml_backend_free(backend);
} catch (const std::exception & e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
}
