/* Matrix product of Q8_0 weights and the few Q8_0 columns of a speculative batch, for llama.cpp on x86-64.
 *
 * llama.cpp asks `llamafile_sgemm` for every product and falls back to one dot product per element where that
 * declines. This library defines the same symbol and is loaded before llama.cpp's own, so the linker takes this one;
 * all that it does not do itself goes on to the original.
 *
 * Why it pays: scoring k rows needs the weights once and k times the arithmetic, yet the original waits for memory
 * as soon as it works on several weight rows at once (each row is a stream of a few cache lines, too short for the
 * hardware to run ahead of). Here the stream is fetched ahead by hand and a tile of weights serves all columns.
 *
 * Bits: each element is summed in the very order of llama.cpp's `ggml_vec_dot_q8_0_q8_0` (eight lanes, block by
 * block, one fused multiply-add each), so a batch has the bits of single rows.
 */

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 32, TYPE_F32 = 0, TYPE_Q8_0 = 8 }; /* types as ggml numbers them */
enum { TILE = 4 };                                /* columns of a tile */
enum { PANEL = 32 };                              /* columns that are packed at a time: 100 KB for 1,536 inputs */
enum { AHEAD = 8192 };                            /* bytes of weights between fetching and using */

struct params { /* the head of ggml_compute_params */
    int thread, threads;
};

struct block { /* block_q8_0: an IEEE half and 32 quants */
    uint16_t scale;
    int8_t quants[BLOCK];
} __attribute__((packed));

struct column_block { /* a block of a column, laid out for the dot product: one cache line */
    int32_t bias[8];  /* by lane: -128 times the sum of its four quants */
    int8_t quants[BLOCK];
} __attribute__((aligned(64)));

struct product {
    const char *weights;
    size_t weight_stride; /* bytes */
    int64_t blocks;       /* of a row */
    int64_t out_stride;   /* floats */
    float *scales;        /* room for the products of a tile's scales */
};

typedef bool sgemm(const struct params *, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b,
                   int64_t ldb, void *c, int64_t ldc, int a_type, int b_type, int c_type);

enum level { OFF, AVX2, AVX_VNNI, AVX512_VNNI };

static sgemm *original;
static enum level level = OFF;
static long calls;

/* A tile of n columns: their blocks interleaved, then their scales. */
INLINE size_t tile_size(int64_t n, int64_t blocks) {
    return n * blocks * sizeof(struct column_block) + (n * blocks * sizeof(float) + 63) / 64 * 64;
}

#ifdef __clang__
#define BEGIN_TARGET(name) _Pragma(name)
#define END_TARGET _Pragma("clang attribute pop")
#define TARGET_AVX2 "clang attribute push(__attribute__((target(\"avx2,fma,f16c\"))), apply_to = function)"
#define TARGET_AVX_VNNI "clang attribute push(__attribute__((target(\"avx2,fma,f16c,avxvnni\"))), apply_to = function)"
#define TARGET_AVX512_VNNI \
    "clang attribute push(__attribute__((target(\"avx2,fma,f16c,avx512f,avx512vl,avx512vnni\"))), apply_to = function)"
#else
#define BEGIN_TARGET(name) _Pragma("GCC push_options") _Pragma(name)
#define END_TARGET _Pragma("GCC pop_options")
#define TARGET_AVX2 "GCC target(\"avx2,fma,f16c\")"
#define TARGET_AVX_VNNI "GCC target(\"avx2,fma,f16c,avxvnni\")"
#define TARGET_AVX512_VNNI "GCC target(\"avx2,fma,f16c,avx512f,avx512vl,avx512vnni\")"
#endif

/* The dot product instructions multiply unsigned by signed bytes. With VNNI the weights are made unsigned by adding
 * 128, which the bias takes off again; without it the sign moves over to the column, since 16-bit sums would
 * overflow. Both give the same integers as llama.cpp. */

BEGIN_TARGET(TARGET_AVX2)
#define NAME(name) name##_avx2
#define ROWS 2
#define UNSIGNED(w) _mm256_abs_epi8(w)
#define DOT(bias, unsigned_w, w, q)                                                                          \
    ((void)(bias), _mm256_madd_epi16(_mm256_maddubs_epi16(unsigned_w, _mm256_sign_epi8(q, w)), _mm256_set1_epi16(1)))
#include "q8_rows.h"
END_TARGET

BEGIN_TARGET(TARGET_AVX_VNNI)
#define NAME(name) name##_avx_vnni
#define ROWS 2
#define UNSIGNED(w) _mm256_xor_si256(w, _mm256_set1_epi8((char)0x80))
#define DOT(bias, unsigned_w, w, q) ((void)(w), _mm256_dpbusd_avx_epi32(bias, unsigned_w, q))
#include "q8_rows.h"
END_TARGET

BEGIN_TARGET(TARGET_AVX512_VNNI)
#define NAME(name) name##_avx512_vnni
#define ROWS 4
#define UNSIGNED(w) _mm256_xor_si256(w, _mm256_set1_epi8((char)0x80))
#define DOT(bias, unsigned_w, w, q) ((void)(w), _mm256_dpbusd_epi32(bias, unsigned_w, q))
#include "q8_rows.h"
END_TARGET

__attribute__((target("avx2,f16c"))) static void pack(const struct product *p, const char *columns, size_t stride,
                                                      int64_t count, char *out) {
    for (int64_t first = 0; first < count; first += TILE) {
        const int64_t n = count - first < TILE ? count - first : TILE;
        struct column_block *blocks = (struct column_block *)out;
        float *scales = (float *)(blocks + n * p->blocks);
        for (int64_t j = 0; j < n; j++) {
            const struct block *from = (const struct block *)(columns + (first + j) * stride);
            for (int64_t b = 0; b < p->blocks; b++) {
                const __m256i quants = _mm256_loadu_si256((const __m256i *)from[b].quants);
                const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), quants);
                struct column_block *to = &blocks[b * n + j];
                _mm256_store_si256((__m256i *)to->bias, _mm256_madd_epi16(pairs, _mm256_set1_epi16(-128)));
                _mm256_store_si256((__m256i *)to->quants, quants);
                scales[b * n + j] = _cvtsh_ss(from[b].scale);
            }
        }
        out += tile_size(n, p->blocks);
    }
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

__attribute__((visibility("default"))) bool llamafile_sgemm(const struct params *params, int64_t m, int64_t n,
                                                            int64_t k, const void *a, int64_t lda, const void *b,
                                                            int64_t ldb, void *c, int64_t ldc, int a_type, int b_type,
                                                            int c_type) {
    static rows *const by_level[] = {0, rows_avx2, rows_avx_vnni, rows_avx512_vnni};
    const bool ours = level != OFF && n > 1 && a_type == TYPE_Q8_0 && b_type == TYPE_Q8_0 && c_type == TYPE_F32;
    const size_t scales = TILE * 4 * sizeof(float) * k;
    const int64_t columns = n < PANEL ? n : PANEL;
    char *buffer = ours ? thread_buffer(scales + (columns + TILE - 1) / TILE * tile_size(TILE, k)) : 0;
    if (!buffer) /* a thread that declines alone does the others' work again, to the same bits */
        return original ? original(params, m, n, k, a, lda, b, ldb, c, ldc, a_type, b_type, c_type) : false;

    if (params->thread == 0) calls++;
    const size_t column_stride = ldb * sizeof(struct block);
    const struct product product = {a, lda * sizeof(struct block), k, ldc, (float *)buffer};
    const int64_t groups = (m + 3) / 4; /* whole tiles of weights for each thread */
    const int64_t from = groups * params->thread / params->threads * 4;
    const int64_t end = groups * (params->thread + 1) / params->threads * 4;
    for (int64_t j = 0; j < n; j += PANEL) {
        const int64_t count = n - j < PANEL ? n - j : PANEL;
        pack(&product, (const char *)b + j * column_stride, column_stride, count, buffer + scales);
        by_level[level](&product, buffer + scales, count, (float *)c + j * ldc, from, end < m ? end : m);
    }
    return true;
}

static bool has_avx_vnni(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4); /* the operating system is asked with AVX2 */
}

/* The best level of this processor. */
__attribute__((visibility("default"))) int velospec_q8_best_level(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
        return OFF;
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) return AVX512_VNNI;
    return has_avx_vnni() ? AVX_VNNI : AVX2;
}

/* What declined products go to: llama.cpp's own definition. */
__attribute__((visibility("default"))) void velospec_q8_set_original(void *function) { original = (sgemm *)function; }

__attribute__((visibility("default"))) void velospec_q8_set_level(int chosen) { level = (enum level)chosen; }

/* Products computed here since the start. */
__attribute__((visibility("default"))) long velospec_q8_calls(void) { return calls; }
