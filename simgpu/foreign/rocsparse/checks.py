"""What is checked: calls of rocSPARSE and the results of SciPy. Each check is a generator's item: a
name, and a function that raises `Wrong` if the results differ. It uses the generator's variables, so
it is called before the next item is asked for."""

import ctypes

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as solvers

from device import (AUTO, COLUMNS, CONJUGATE, LETTERS, LOWER, NON_UNIT, NONE, NUMERIC, REUSE, ROWS, TRANSPOSE,
                    UNIT, UPPER, Buffer, Room, Wrong, call, descriptor, made, workspace)

REAL = (np.float32, np.float64)
ALL = tuple(LETTERS)
# Rows, columns, and the part of the elements that is not zero. The last has rows longer than a
# wave.
SHAPES = ((1, 1, 1.0), (7, 5, 0.4), (64, 64, 0.1), (37, 130, 0.05), (9, 500, 0.7))


def random(seed):
    return np.random.default_rng(seed)


def values(of, dtype, *shape):
    """Returns numbers of a type between -1 and 1."""
    result = of.uniform(-1, 1, shape)
    if np.issubdtype(dtype, np.complexfloating):
        result = result + 1j * of.uniform(-1, 1, shape)
    return result.astype(dtype)


def matrix(of, dtype, rows, columns, density):
    """Returns a random matrix in CSR form, with sorted columns."""
    result = sparse.csr_matrix(values(of, dtype, rows, columns) * (of.uniform(size=(rows, columns)) < density))
    result.sort_indices()
    return result


def triangle(of, dtype, size, lower, unit):
    """Returns a triangular matrix whose systems are well conditioned."""
    result = values(of, dtype, size, size) * (of.uniform(size=(size, size)) < 0.2) / size
    result = np.tril(result, -1) if lower else np.triu(result, 1)
    return sparse.csr_matrix(result + np.diag(np.ones(size) if unit else 1 + of.uniform(size=size)).astype(dtype))


def csr(a):
    return Buffer(a.data), Buffer(a.indptr.astype(np.int32)), Buffer(a.indices.astype(np.int32))


def close(got, expected, size):
    """Fails if an element differs by more than rounding; `size` is the sum of its terms' sizes."""
    unit = np.finfo(got.dtype).eps
    wrong = ~(np.abs(got.astype(np.complex128) - expected) <= 64 * unit * (np.abs(size) + 1))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Wrong(f"element {at} is {got[at]}, not {np.asarray(expected)[at]}; {int(wrong.sum())} are wrong")


def same(got, expected):
    """Fails if an element differs."""
    if not np.array_equal(got, expected):
        raise Wrong(f"{got} is not {expected}")


def applied(a, operation):
    return {NONE: a, TRANSPOSE: a.T, CONJUGATE: a.conj().T}[operation].toarray().astype(np.complex128)


def operations(dtype):
    return (NONE, TRANSPOSE, CONJUGATE) if np.issubdtype(dtype, np.complexfloating) else (NONE, TRANSPOSE)


def products_with_vectors():
    """csrmv with and without analysis, coomv, ellmv, bsrmv."""
    for dtype in ALL:
        letter, of = LETTERS[dtype], random(1)
        alpha, beta = dtype(1.5), dtype(-0.5)
        for rows, columns, density in SHAPES:
            a = matrix(of, dtype, rows, columns, density)
            for operation in operations(dtype):
                full = applied(a, operation)
                x, y = values(of, dtype, full.shape[1]), values(of, dtype, full.shape[0])
                size = abs(full) @ abs(x) * 2 + abs(y)
                expected = alpha * (full @ x) + beta * y

                def csrmv(analysed):
                    data, info = csr(a), made("mat_info") if analysed else None
                    head, descr = (operation, *a.shape, a.nnz), descriptor()
                    if analysed:
                        call(f"{letter}csrmv_analysis", HANDLE, *head, descr, *data, info)
                    out = Buffer(y)
                    call(f"{letter}csrmv", HANDLE, *head, alpha, descr, *data, info, Buffer(x), beta, out)
                    close(out.get(), expected, size)

                name = f"{letter}csrmv {rows}x{columns} operation {operation}"
                yield name, lambda: csrmv(False)
                if operation == NONE:
                    yield f"{name} analysed", lambda: csrmv(True)

                def coomv():
                    coo, out = a.tocoo(), Buffer(y)
                    data = Buffer(coo.data), Buffer(coo.row.astype(np.int32)), Buffer(coo.col.astype(np.int32))
                    call(f"{letter}coomv", HANDLE, operation, *a.shape, a.nnz, alpha, descriptor(), *data, Buffer(x),
                         beta, out)
                    close(out.get(), expected, size)

                yield f"{letter}coomv {rows}x{columns} operation {operation}", coomv
                if operation != NONE:
                    continue

                def ellmv():
                    data, descr, width, out = csr(a), descriptor(), ctypes.c_int(), Buffer(y)
                    call("csr2ell_width", HANDLE, a.shape[0], descr, data[1], descr, ctypes.byref(width))
                    same(width.value, np.diff(a.indptr).max())
                    ell = Room(width.value * a.shape[0], dtype), Room(width.value * a.shape[0], np.int32)
                    call(f"{letter}csr2ell", HANDLE, a.shape[0], descr, *data, descr, width.value, *ell)
                    call(f"{letter}ellmv", HANDLE, NONE, *a.shape, alpha, descr, *ell, width.value, Buffer(x), beta, out)
                    close(out.get(), expected, size)

                yield f"{letter}ellmv {rows}x{columns}", ellmv
        for block in (2, 3, 8, 17):
            a = matrix(of, dtype, 5 * block, 4 * block, 0.2)
            x, y = values(of, dtype, 4 * block), values(of, dtype, 5 * block)
            full = a.toarray().astype(np.complex128)

            def bsrmv():
                bsr, out = a.tobsr((block, block)), Buffer(y)
                bsr.sort_indices()
                data = Buffer(bsr.data), Buffer(bsr.indptr.astype(np.int32)), Buffer(bsr.indices.astype(np.int32))
                call(f"{letter}bsrmv", HANDLE, ROWS, NONE, 5, 4, len(bsr.indices), alpha, descriptor(), *data, block,
                     Buffer(x), beta, out)
                close(out.get(), alpha * (full @ x) + beta * y, abs(full) @ abs(x) * 2 + abs(y))

            yield f"{letter}bsrmv blocks of {block}", bsrmv


def products_with_matrices():
    """csrmm with both operations, csrgemm and csrgeam."""
    for dtype in ALL:
        letter, of = LETTERS[dtype], random(2)
        alpha, beta = dtype(0.75), dtype(0.25)
        for rows, columns, density, wide in ((12, 9, 0.3, 5), (64, 64, 0.1, 17), (30, 100, 0.2, 33)):
            a = matrix(of, dtype, rows, columns, density)
            for left, right in ((NONE, NONE), (NONE, TRANSPOSE), (TRANSPOSE, NONE)):
                full = applied(a, left)
                b, c = values(of, dtype, full.shape[1], wide), values(of, dtype, full.shape[0], wide)

                def csrmm():
                    # Dense matrices are stored by columns.
                    stored = b.T if right == NONE else b
                    out = Buffer(c.T)
                    call(f"{letter}csrmm", HANDLE, left, right, a.shape[0], wide, a.shape[1], a.nnz, alpha,
                         descriptor(), *csr(a), Buffer(stored), stored.shape[1], beta, out, c.shape[0])
                    close(out.get().T, alpha * (full @ b) + beta * c, abs(full) @ abs(b) + abs(c))

                yield f"{letter}csrmm {rows}x{columns}x{wide} operations {left} {right}", csrmm
        for rows, inner, columns, density in ((6, 8, 7, 0.4), (40, 40, 40, 0.1)):
            a, b = matrix(of, dtype, rows, inner, density), matrix(of, dtype, inner, columns, density)

            def csrgemm():
                left, right, info = csr(a), csr(b), made("mat_info")
                descr, size = descriptor(), (a.shape[0], b.shape[1], a.shape[1])
                head = (HANDLE, NONE, NONE, *size)
                room = workspace(f"{letter}csrgemm_buffer_size", *head, alpha, descr, a.nnz, *left[1:], descr, b.nnz,
                                 *right[1:], None, None, 0, None, None, info)
                pointers, cell = Room(a.shape[0] + 1, np.int32), ctypes.c_int()
                call("csrgemm_nnz", *head, descr, a.nnz, *left[1:], descr, b.nnz, *right[1:], None, 0, None, None,
                     descr, pointers, ctypes.byref(cell), info, room)
                count = cell.value
                data, indices = Room(count, dtype), Room(count, np.int32)
                call(f"{letter}csrgemm", *head, alpha, descr, a.nnz, *left, descr, b.nnz, *right, None, None, 0, None,
                     None, None, descr, data, pointers, indices, info, room)
                got = sparse.csr_matrix((data.get(), indices.get(), pointers.get()), (a.shape[0], b.shape[1]))
                full = [m.toarray().astype(np.complex128) for m in (a, b)]
                close(got.toarray(), alpha * (full[0] @ full[1]), abs(full[0]) @ abs(full[1]))

            yield f"{letter}csrgemm {rows}x{inner}x{columns}", csrgemm

        a, b = matrix(of, dtype, 33, 21, 0.2), matrix(of, dtype, 33, 21, 0.3)

        def csrgeam():
            left, right, descr, cell = csr(a), csr(b), descriptor(), ctypes.c_int()
            pointers = Room(a.shape[0] + 1, np.int32)
            call("csrgeam_nnz", HANDLE, *a.shape, descr, a.nnz, *left[1:], descr, b.nnz, *right[1:], descr, pointers,
                 ctypes.byref(cell))
            data, indices = Room(cell.value, dtype), Room(cell.value, np.int32)
            call(f"{letter}csrgeam", HANDLE, *a.shape, alpha, descr, a.nnz, *left, beta, descr, b.nnz, *right, descr,
                 data, pointers, indices)
            got = sparse.csr_matrix((data.get(), indices.get(), pointers.get()), a.shape).toarray()
            close(got, (alpha * a + beta * b).toarray(), (abs(a) + abs(b)).toarray())

        yield f"{letter}csrgeam", csrgeam


def solutions():
    """csrsv and csrsm, which wait for rows that other waves solve, and factorisations."""
    for dtype in ALL:
        letter, of = LETTERS[dtype], random(3)
        alpha = dtype(2)
        for size in (1, 20, 130):
            for lower in (True, False):
                for unit in (True, False):
                    a = triangle(of, dtype, size, lower, unit)
                    form = (0, LOWER if lower else UPPER, UNIT if unit else NON_UNIT)
                    name = f"{size} {'lower' if lower else 'upper'} {'unit' if unit else 'own'} diagonal"
                    exact = a.toarray().astype(np.complex128)

                    def csrsv():
                        data, descr, info = csr(a), descriptor(*form), made("mat_info")
                        x, out = values(random(4), dtype, a.shape[0]), Room(a.shape[0], dtype)
                        head = (HANDLE, NONE, a.shape[0], a.nnz)
                        room = workspace(f"{letter}csrsv_buffer_size", *head, descr, *data, info)
                        call(f"{letter}csrsv_analysis", *head, descr, *data, info, REUSE, AUTO, room)
                        call(f"{letter}csrsv_solve", *head, alpha, descr, *data, info, Buffer(x), out, AUTO, room)
                        close(out.get(), np.linalg.solve(exact, alpha * x.astype(np.complex128)), 4 * a.shape[0])

                    yield f"{letter}csrsv {name}", csrsv
                    if size == 1:
                        continue

                    def csrsm():
                        data, descr, info, wide = csr(a), descriptor(*form), made("mat_info"), 3
                        b = values(random(5), dtype, a.shape[0], wide)
                        out = Buffer(b.T)
                        head = (HANDLE, NONE, NONE, a.shape[0], wide, a.nnz, alpha, descr, *data, out, a.shape[0], info)
                        room = workspace(f"{letter}csrsm_buffer_size", *head, AUTO)
                        call(f"{letter}csrsm_analysis", *head, REUSE, AUTO, room)
                        call(f"{letter}csrsm_solve", *head, AUTO, room)
                        close(out.get().T, np.linalg.solve(exact, alpha * b.astype(np.complex128)), 4 * a.shape[0])

                    yield f"{letter}csrsm {name}", csrsm

        def csrilu0():
            a = sparse.csr_matrix(np.diag(np.full(40, 4.0)) + np.diag(np.ones(39), 1) + np.diag(np.ones(39), -1))
            a = a.astype(dtype)
            data, descr, info = csr(a), descriptor(), made("mat_info")
            head = (HANDLE, 40, a.nnz, descr, *data, info)
            room = workspace(f"{letter}csrilu0_buffer_size", *head)
            call(f"{letter}csrilu0_analysis", *head, REUSE, AUTO, room)
            call(f"{letter}csrilu0", *head, AUTO, room)
            # A tridiagonal matrix fills nothing in, so that the factors are exact.
            got = sparse.csr_matrix((data[0].get(), a.indices, a.indptr)).toarray()
            product = (np.tril(got, -1) + np.eye(40)) @ np.triu(got)
            close(product.astype(dtype), a.toarray(), 4)

        yield f"{letter}csrilu0", csrilu0


def sparse_vectors():
    """axpyi, doti, gthr, gthrz, sctr, roti."""
    for dtype in ALL:
        letter = LETTERS[dtype]
        for count, size in ((1, 1), (30, 100), (600, 1000)):
            of = random(count)
            where = of.choice(size, count, replace=False).astype(np.int32)
            x, y, alpha = values(of, dtype, count), values(of, dtype, size), dtype(-1.25)

            def axpyi():
                out, expected = Buffer(y), y.astype(np.complex128)
                call(f"{letter}axpyi", HANDLE, len(x), alpha, Buffer(x), Buffer(where), out, 0)
                expected[where] += alpha * x
                close(out.get(), expected, 4)

            def doti():
                cell = np.zeros(1, dtype)
                call(f"{letter}doti", HANDLE, len(x), Buffer(x), Buffer(where), Buffer(y),
                     cell.ctypes.data_as(ctypes.c_void_p), 0)
                close(cell, np.array([x.astype(np.complex128) @ y[where]]), abs(x) @ abs(y[where]))

            def gthr():
                out = Room(len(x), dtype)
                call(f"{letter}gthr", HANDLE, len(x), Buffer(y), out, Buffer(where), 0)
                same(out.get(), y[where])

            def gthrz():
                out, left, rest = Room(len(x), dtype), Buffer(y), y.copy()
                call(f"{letter}gthrz", HANDLE, len(x), left, out, Buffer(where), 0)
                rest[where] = 0
                same(out.get(), y[where])
                same(left.get(), rest)

            def sctr():
                out, expected = Buffer(y), y.copy()
                call(f"{letter}sctr", HANDLE, len(x), Buffer(x), Buffer(where + 1), out, 1)
                expected[where] = x
                same(out.get(), expected)

            def roti():
                c, s, left, right = dtype(0.6), dtype(0.8), Buffer(x), Buffer(y)
                call(f"{letter}roti", HANDLE, len(x), left, Buffer(where), right, c, s, 0)
                expected = y.astype(np.complex128)
                expected[where] = c * y[where] - s * x
                close(right.get(), expected, 4)
                close(left.get(), c * x + s * y[where], 4)

            for check in (axpyi, doti, gthr, gthrz, sctr) + ((roti,) if dtype in REAL else ()):
                yield f"{letter}{check.__name__} {count} of {size}", check


def conversions():
    """Between CSR, CSC, COO, BSR and dense matrices."""
    for dtype in ALL:
        letter = LETTERS[dtype]
        for rows, columns, density in SHAPES:
            a = matrix(random(6), dtype, rows, columns, density)
            shape = f"{rows}x{columns}"

            def csr2csc():
                data, out = csr(a), a.tocsc()
                out.sort_indices()
                room = workspace("csr2csc_buffer_size", HANDLE, *a.shape, a.nnz, *data[1:], NUMERIC)
                got = Room(a.nnz, dtype), Room(a.nnz, np.int32), Room(a.shape[1] + 1, np.int32)
                call(f"{letter}csr2csc", HANDLE, *a.shape, a.nnz, *data, *got, NUMERIC, 0, room)
                for part, expected in zip(got, (out.data, out.indices, out.indptr)):
                    same(part.get(), expected)

            def csr2dense():
                out = Room((a.shape[1], a.shape[0]), dtype)
                call(f"{letter}csr2dense", HANDLE, *a.shape, descriptor(), *csr(a), out, a.shape[0])
                same(out.get().T, a.toarray())

            def dense2csr():
                full, descr, total = Buffer(a.toarray().T), descriptor(), ctypes.c_int()
                counts = Room(a.shape[0], np.int32)
                call(f"{letter}nnz", HANDLE, ROWS, *a.shape, descr, full, a.shape[0], counts, ctypes.byref(total))
                same(total.value, a.nnz)
                same(counts.get(), np.diff(a.indptr))
                got = Room(a.nnz, dtype), Room(a.shape[0] + 1, np.int32), Room(a.nnz, np.int32)
                call(f"{letter}dense2csr", HANDLE, *a.shape, descr, full, a.shape[0], counts, *got)
                for part, expected in zip(got, (a.data, a.indptr, a.indices)):
                    same(part.get(), expected)

            def dense2csc():
                full, descr, out = Buffer(a.toarray().T), descriptor(), a.tocsc()
                counts = Buffer(np.diff(out.indptr).astype(np.int32))
                got = Room(a.nnz, dtype), Room(a.shape[1] + 1, np.int32), Room(a.nnz, np.int32)
                call(f"{letter}dense2csc", HANDLE, *a.shape, descr, full, a.shape[0], counts, *got)
                for part, expected in zip(got, (out.data, out.indptr, out.indices)):
                    same(part.get(), expected)

            for check in (csr2csc, csr2dense, dense2csr, dense2csc):
                yield f"{letter}{check.__name__} {shape}", check

        def csr2bsr():
            a, block, cell, descr = matrix(random(7), dtype, 24, 18, 0.1), 3, ctypes.c_int(), descriptor()
            data, pointers = csr(a), Room(9, np.int32)
            call("csr2bsr_nnz", HANDLE, ROWS, *a.shape, descr, *data[1:], block, descr, pointers, ctypes.byref(cell))
            blocks, indices = Room(cell.value * 9, dtype), Room(cell.value, np.int32)
            call(f"{letter}csr2bsr", HANDLE, ROWS, *a.shape, descr, *data, block, descr, blocks, pointers, indices)
            bsr = (blocks.get().reshape(-1, 3, 3), indices.get(), pointers.get())
            same(sparse.bsr_matrix(bsr, a.shape).toarray(), a.toarray())
            got = Room(cell.value * 9, dtype), Room(25, np.int32), Room(cell.value * 9, np.int32)
            call(f"{letter}bsr2csr", HANDLE, ROWS, 8, 6, descr, blocks, pointers, indices, block, descr, *got)
            again = sparse.csr_matrix((got[0].get(), got[2].get(), got[1].get()), a.shape)
            same(again.toarray(), a.toarray())

        yield f"{letter}csr2bsr and back", csr2bsr


def orders():
    """Sorts of indices, and rows as pointers or as a list."""
    for rows, columns, density in SHAPES:
        a = matrix(random(8), np.float32, rows, columns, density)
        coo, shape = a.tocoo(), f"{rows}x{columns}"

        def csr2coo():
            out, back = Room(a.nnz, np.int32), Room(a.shape[0] + 1, np.int32)
            call("csr2coo", HANDLE, csr(a)[1], a.nnz, a.shape[0], out, 0)
            same(out.get(), coo.row)
            call("coo2csr", HANDLE, out, a.nnz, a.shape[0], back, 0)
            same(back.get(), a.indptr)

        def csrsort():
            of, mixed, order = random(9), a.indices.astype(np.int32), np.arange(a.nnz)
            for start, end in zip(a.indptr, a.indptr[1:]):
                order[start:end] = start + of.permutation(end - start)
            indices, pointers, steps = Buffer(mixed[order]), csr(a)[1], Room(a.nnz, np.int32)
            call("create_identity_permutation", HANDLE, a.nnz, steps)
            same(steps.get(), np.arange(a.nnz))
            room = workspace("csrsort_buffer_size", HANDLE, *a.shape, a.nnz, pointers, indices)
            call("csrsort", HANDLE, *a.shape, a.nnz, descriptor(), pointers, indices, steps, room)
            same(indices.get(), mixed)
            same(order[steps.get()], np.arange(a.nnz))

        def coosort(column):
            order = random(10).permutation(a.nnz)
            row, col = coo.row.astype(np.int32)[order], coo.col.astype(np.int32)[order]
            parts, steps = (Buffer(row), Buffer(col)), Buffer(np.arange(a.nnz, dtype=np.int32))
            room = workspace("coosort_buffer_size", HANDLE, *a.shape, a.nnz, *parts)
            call("coosort_by_column" if column else "coosort_by_row", HANDLE, *a.shape, a.nnz, *parts, steps, room)
            expected = np.lexsort((row, col) if column else (col, row))
            for part, values_of in zip((*parts, steps), (row[expected], col[expected], expected)):
                same(part.get(), values_of)

        yield f"csr2coo and back {shape}", csr2coo
        yield f"csrsort {shape}", csrsort
        yield f"coosort by row {shape}", lambda: coosort(False)
        yield f"coosort by column {shape}", lambda: coosort(True)


HANDLE = made("handle")
GROUPS = (sparse_vectors, conversions, orders, products_with_vectors, products_with_matrices, solutions)
