/* Matrix product of quantized weights and the few columns of a speculative batch, for llama.cpp on x86-64.
 *
 * llama.cpp asks `llamafile_sgemm` for every product and falls back to one dot product per element where that
 * declines. This library defines the same symbol and is loaded before llama.cpp's own, so the linker takes this one;
 * all that it does not do itself goes on to the original.
 *
 * Why it pays: scoring k rows needs the weights once and k times the arithmetic, yet the original waits for memory
 * as soon as it works on several weight rows at once (each row is a stream of a few cache lines, too short for the
 * hardware to run ahead of), or unpacks the weights again for each column. Here the stream is fetched ahead by hand
 * and a tile of weights serves all columns.
 *
 * Bits: each element is summed in the very order of llama.cpp's dot product for its type (eight lanes, block by
 * block, one fused multiply-add each), so a batch has the bits of single rows.
 */

#include "blocks.h"

#include <cpuid.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

enum { TILE = 4 };     /* columns of a tile */
enum { PANEL = 32 };   /* columns that are packed at a time: 100 KB for 1,536 inputs */
enum { AHEAD = 8192 }; /* bytes of weights between fetching and using, at least */

struct params { /* the head of ggml_compute_params */
    int thread, threads;
};

struct column_block { /* a block of a column, laid out for the dot product: one cache line */
    int32_t bias[8];  /* by lane: what the offset of the weights adds, negative */
    int8_t quants[BLOCK];
} __attribute__((aligned(64)));

struct column_scale {
    float scale, sum; /* `sum` of the values, where the weights have a lowest value */
};

struct product {
    int type; /* of the weights */
    const char *weights;
    size_t weight_stride, column_stride; /* bytes */
    size_t ahead;                        /* bytes */
    int64_t blocks;                      /* of a row */
    int64_t out_stride;                  /* floats */
    float *heads, *products;             /* room for the scales and lows of four rows, and for a tile's scales */
};

struct column_sums { /* of a column with four weight rows */
    __m256 lanes[4];
    __m256 lows[2];
};

typedef bool sgemm(const struct params *, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b,
                   int64_t ldb, void *c, int64_t ldc, int a_type, int b_type, int c_type);

enum level { OFF, AVX2, AVX_VNNI, AVX512_VNNI };

static sgemm *original;
static enum level level = OFF;
static unsigned served, alone; /* a bit for each type of weights; `alone` for products with one column */
static long calls;

/* A tile of n columns: their blocks interleaved, then their scales. */
INLINE size_t tile_size(int64_t n, int64_t blocks) {
    return n * blocks * sizeof(struct column_block) + (n * blocks * sizeof(struct column_scale) + 63) / 64 * 64;
}

/* A weight row; behind the last one, that again. */
INLINE const char *row_at(const struct product *p, int64_t row, int64_t end) {
    return p->weights + (row < end ? row : end - 1) * p->weight_stride;
}

INLINE void prefetch(const char *from, size_t size) {
    for (size_t byte = 0; byte < size; byte += 64) _mm_prefetch(from + byte, _MM_HINT_T0);
}

/* Store the elements of `rows` weight rows, 4 at most. */
INLINE void store(__m128 made, float *out, int rows) {
    if (rows == 4)
        _mm_storeu_ps(out, made);
    else
        memcpy(out, &made, rows * sizeof(float));
}

/* Shifts for bytes twice: once their low halves, once their high ones. */
static const int32_t none_then_four[8] = {0, 0, 0, 0, 4, 4, 4, 4};

/* Shuffles that take one of eight 16-bit numbers everywhere, or two of them, each into one half. */
#define INDEX(i) (0x0100 + 0x0202 * (i))
#define EIGHT(i) INDEX(i), INDEX(i), INDEX(i), INDEX(i), INDEX(i), INDEX(i), INDEX(i), INDEX(i)
#define TAKE(i, j) {EIGHT(i), EIGHT(j)}
static const int16_t one_of[8][16] = {TAKE(0, 0), TAKE(1, 1), TAKE(2, 2), TAKE(3, 3),
                                      TAKE(4, 4), TAKE(5, 5), TAKE(6, 6), TAKE(7, 7)};
static const int16_t two_of[4][16] = {TAKE(0, 1), TAKE(2, 3), TAKE(4, 5), TAKE(6, 7)};

#ifdef __clang__
#define BEGIN_TARGET(name) _Pragma(name)
#define END_TARGET _Pragma("clang attribute pop")
#define TARGET_AVX2 "clang attribute push(__attribute__((target(\"avx2,fma,f16c\"))), apply_to = function)"
#define TARGET_AVX_VNNI "clang attribute push(__attribute__((target(\"avx2,fma,f16c,avxvnni\"))), apply_to = function)"
#define TARGET_AVX512_VNNI \
    "clang attribute push(__attribute__((target(\"avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512vnni\"))), apply_to = function)"
#else
#define BEGIN_TARGET(name) _Pragma("GCC push_options") _Pragma(name)
#define END_TARGET _Pragma("GCC pop_options")
#define TARGET_AVX2 "GCC target(\"avx2,fma,f16c\")"
#define TARGET_AVX_VNNI "GCC target(\"avx2,fma,f16c,avxvnni\")"
#define TARGET_AVX512_VNNI "GCC target(\"avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512vnni\")"
#endif

BEGIN_TARGET(TARGET_AVX2)
#define NAME(name) name##_avx2
#define ROWS 2
#define VNNI 0
#include "rows.h"
END_TARGET

BEGIN_TARGET(TARGET_AVX_VNNI)
#define NAME(name) name##_avx_vnni
#define ROWS 2
#define VNNI 256
#include "rows.h"
END_TARGET

BEGIN_TARGET(TARGET_AVX512_VNNI)
#define NAME(name) name##_avx512_vnni
#define ROWS 4
#define VNNI 512
#include "rows.h"
END_TARGET

/* Lay the columns of a panel out in tiles, for weights in blocks of 32. */
__attribute__((target("avx2,f16c"))) INLINE void pack_as(const int type, const struct product *p, const char *columns,
                                                         int64_t count, char *out) {
    const __m256i minus = _mm256_set1_epi16((short)-offset(p->type));
    for (int64_t first = 0; first < count; first += TILE) {
        const int64_t n = count - first < TILE ? count - first : TILE;
        struct column_block *blocks = (struct column_block *)out;
        struct column_scale *scales = (struct column_scale *)(blocks + n * p->blocks);
        for (int64_t j = 0; j < n; j++) {
            const char *from = columns + (first + j) * p->column_stride;
            for (int64_t b = 0; b < p->blocks; b++, from += block_size(type)) {
                const __m256i quants = _mm256_loadu_si256((const __m256i *)(from + block_size(type) - BLOCK));
                const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), quants);
                struct column_block *to = &blocks[b * n + j];
                _mm256_store_si256((__m256i *)to->bias, _mm256_madd_epi16(pairs, minus));
                _mm256_store_si256((__m256i *)to->quants, quants);
                scales[b * n + j].scale = _cvtsh_ss((unsigned short)half_at(from));
                if (type == Q8_1) scales[b * n + j].sum = _cvtsh_ss((unsigned short)half_at(from + 2));
            }
        }
        out += tile_size(n, p->blocks);
    }
}

__attribute__((target("avx2,f16c"))) static void pack(const struct product *p, const char *columns, int64_t count,
                                                      char *out) {
    if (column_type(p->type) == Q8_1)
        pack_as(Q8_1, p, columns, count, out);
    else
        pack_as(Q8_0, p, columns, count, out);
}

static pthread_key_t buffer_key;

static void make_buffer_key(void) { pthread_key_create(&buffer_key, free); }

/* A buffer of the calling thread, freed with it; NULL where there is no memory. */
static char *thread_buffer(size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static __thread char *buffer;
    static __thread size_t room;
    if (size > room) {
        pthread_once(&once, make_buffer_key);
        free(buffer);
        room = (size + 4095) / 4096 * 4096;
        buffer = aligned_alloc(64, room);
        if (!buffer) room = 0;
        pthread_setspecific(buffer_key, buffer);
    }
    return buffer;
}

typedef void rows(const struct product *, const char *panel, int64_t columns, float *out, int64_t from, int64_t to);

/* Compute the share of one thread; false where there is no memory. */
static bool multiply(const struct params *params, int64_t m, int64_t n, struct product *p, const char *columns,
                     float *out) {
    static rows *const by_level[] = {0, rows_avx2, rows_avx_vnni, rows_avx512_vnni};
    const bool packed = column_type(p->type) != Q8_K;
    const size_t heads = ((2 + TILE) * 4 * sizeof(float) * p->blocks + 63) / 64 * 64;
    const int64_t widest = n < PANEL ? n : PANEL;
    char *buffer = packed ? thread_buffer(heads + (widest + TILE - 1) / TILE * tile_size(TILE, p->blocks)) : 0;
    if (packed && !buffer) return false;
    p->heads = (float *)buffer;
    p->products = p->heads + 8 * p->blocks;

    const int64_t groups = (m + 3) / 4; /* whole tiles of weights for each thread */
    const int64_t from = groups * params->thread / params->threads * 4;
    const int64_t end = groups * (params->thread + 1) / params->threads * 4;
    for (int64_t j = 0; j < n; j += PANEL) {
        const int64_t count = n - j < PANEL ? n - j : PANEL;
        const char *panel = columns + j * p->column_stride;
        if (packed) pack(p, panel, count, buffer + heads);
        by_level[level](p, packed ? buffer + heads : panel, count, out + j * p->out_stride, from, end < m ? end : m);
    }
    return true;
}

__attribute__((visibility("default"))) bool llamafile_sgemm(const struct params *params, int64_t m, int64_t n,
                                                            int64_t k, const void *a, int64_t lda, const void *b,
                                                            int64_t ldb, void *c, int64_t ldc, int a_type, int b_type,
                                                            int c_type) {
    const bool ours = level != OFF && (unsigned)a_type < 32 && ((n > 1 ? served : alone) & 1u << a_type) &&
                      c_type == F32 && b_type == column_type(a_type);
    if (ours) {
        struct product product = {
            .type = a_type,
            .weights = a,
            .weight_stride = lda * block_size(a_type),
            .column_stride = ldb * block_size(b_type),
            .blocks = k,
            .out_stride = ldc,
        };
        product.ahead = 4 * product.weight_stride > AHEAD ? 4 * product.weight_stride : AHEAD;
        if (multiply(params, m, n, &product, b, c)) {
            if (params->thread == 0) calls++;
            return true;
        } /* a thread that declines alone does the others' work again, to the same bits */
    }
    return original ? original(params, m, n, k, a, lda, b, ldb, c, ldc, a_type, b_type, c_type) : false;
}

static bool has_avx_vnni(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4); /* the operating system is asked with AVX2 */
}

/* The best level of this processor. */
__attribute__((visibility("default"))) int velospec_quant_best_level(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
        return OFF;
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni"))
        return AVX512_VNNI;
    return has_avx_vnni() ? AVX_VNNI : AVX2;
}

/* What declined products go to: llama.cpp's own definition. */
__attribute__((visibility("default"))) void velospec_quant_set_original(void *function) {
    original = (sgemm *)function;
}

/* Run at a level, for the types of weights whose bits are set in `types`; with one column, in `single`. */
__attribute__((visibility("default"))) void velospec_quant_set(int chosen, unsigned types, unsigned single) {
    level = (enum level)chosen;
    served = types;
    alone = single;
}

/* Products computed here since the start. */
__attribute__((visibility("default"))) long velospec_quant_calls(void) { return calls; }
