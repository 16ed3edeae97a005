/* The kernel of one instruction set; quant_matmul.c defines NAME, ROWS (weight rows of a tile) and VNNI (bits). */

/* A vector of 512 bits holds two weight rows side by side, one of 256 bits one row. */
#if VNNI == 512
#define VECTOR __m512i
#define OP(name) _mm512_##name
#define ALL(name) _mm512_##name##_si512
#define WIDE 2
#else
#define VECTOR __m256i
#define OP(name) _mm256_##name
#define ALL(name) _mm256_##name##_si256
#define WIDE 1
#endif
#define VECTORS (ROWS / WIDE) /* at a time */

#include "block_rows.h"
#include "super_rows.h"

#define SERVE(type, work)                                                                                       \
    case type:                                                                                                  \
        for (int64_t row = from; row < to; row += 4) {                                                          \
            const char *const four[4] = {row_at(p, row, to), row_at(p, row + 1, to), row_at(p, row + 2, to),    \
                                         row_at(p, row + 3, to)};                                               \
            work(type, p, four, panel, columns, out + row, to - row < 4 ? (int)(to - row) : 4);                 \
        }                                                                                                       \
        break;

/* The weight rows from `from` to `to` times the columns of a panel. */
static void NAME(rows)(const struct product *p, const char *panel, int64_t columns, float *out, int64_t from,
                       int64_t to) {
    switch (p->type) {
        SERVE(Q4_0, NAME(block_band))
        SERVE(Q4_1, NAME(block_band))
        SERVE(Q5_0, NAME(block_band))
        SERVE(Q5_1, NAME(block_band))
        SERVE(Q8_0, NAME(block_band))
        SERVE(Q4_K, NAME(super_band))
        SERVE(Q5_K, NAME(super_band))
        SERVE(Q6_K, NAME(super_band))
    default: break;
    }
}

#undef SERVE
#undef VECTOR
#undef OP
#undef ALL
#undef WIDE
#undef VECTORS
#undef NAME
#undef ROWS
#undef VNNI
