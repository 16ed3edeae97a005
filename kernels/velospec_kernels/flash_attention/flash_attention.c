/* Attention of a few query rows over a KV cache of half precision, for llama.cpp on x86-64 with AVX2.
 *
 * Takes the place of llama.cpp's `ggml_compute_forward_flash_attn_ext`, as quant_matmul does for products. The original
 * converts each key and value again for every query, and takes the exponentials one by one: 3 ms for each row of a
 * batch at 512 positions of a 135M model, as much as half of all the rest of a single row. Here a block of keys and
 * values is converted once for all queries that look at it (the rows of the batch, and the heads that share it).
 *
 * Bits: what a query gets does not depend on the other rows of the batch. It goes through the cache in blocks at
 * fixed places, and a position that is masked adds exact zeros. (Online softmax: Milakov and Gimelshein,
 * arXiv:1805.02867; in blocks: Dao et al., arXiv:2205.14135.)
 */

#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define EACH(i, n) _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++)
#define EXPORT __attribute__((visibility("default")))

enum { BLOCK = 32 };     /* positions */
enum { LANES = 8 };      /* floats of a register */
enum { WIDEST = 256 };   /* most numbers of a head */
enum { GROUP = 64 };     /* queries that go through the cache together */
enum { HIDDEN = 0xfc00 }; /* -inf in half precision */
enum { F32 = 0, F16 = 1, BF16 = 30 }; /* types as ggml numbers them */

struct tensor { /* ggml_tensor */
    int type;
    void *buffer;
    int64_t size[4];
    size_t stride[4]; /* bytes */
    int operation;
    int32_t parameters[16];
    int32_t flags;
    struct tensor *source[10];
    struct tensor *view;
    size_t view_offset;
    char *data;
};

struct params { /* the head of ggml_compute_params */
    int thread, threads;
};

struct query {
    const float *numbers;
    const uint16_t *mask; /* by position, 0 or -inf in half precision; NULL for none */
    float *out;           /* also holds the sum of values while the query is on its way */
    __m256 total;         /* of the exponentials, by lane */
    float most;           /* largest score so far */
};

typedef void attention(const struct params *, struct tensor *);

static attention *original;
static bool on;
static long calls;

/* e^x for x <= 0, within two units in the last place; exactly 1 at 0 and 0 below -87. NaN stays NaN.
 * Cody-Waite reduction and the polynomial of Cephes' expf. */
__attribute__((target("avx2,fma"))) INLINE __m256 exponential(__m256 x) {
    const __m256 lowest = _mm256_set1_ps(-87.0f);
    const __m256 tiny = _mm256_cmp_ps(x, lowest, _CMP_LT_OQ);
    x = _mm256_max_ps(lowest, x); /* in this order NaN comes through */
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 y = _mm256_set1_ps(1.9875691500e-4f);
    y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.3981999507e-3f));
    y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(8.3334519073e-3f));
    y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(4.1665795894e-2f));
    y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.6666665459e-1f));
    y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(5.0000001201e-1f));
    y = _mm256_add_ps(_mm256_fmadd_ps(y, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_andnot_ps(tiny, _mm256_mul_ps(y, _mm256_castsi256_ps(power)));
}

/* `count` positions of a head as floats, the rest of the block zero. */
__attribute__((target("avx2,f16c"))) static void convert(const struct tensor *from, const char *first, int64_t count,
                                                         int width, float *to) {
    for (int64_t p = 0; p < count; p++, first += from->stride[1], to += width)
        for (int d = 0; d < width; d += LANES) {
            const __m128i half = _mm_loadu_si128((const __m128i *)(first + d * sizeof(uint16_t)));
            _mm256_store_ps(to + d, from->type == F16 ? _mm256_cvtph_ps(half)
                                                      : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16)));
        }
    memset(to, 0, (BLOCK - count) * width * sizeof(float));
}

/* Sums of eight registers, one by one the lanes of the result. */
__attribute__((target("avx2"))) INLINE __m256 sums(const __m256 v[LANES]) {
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

__attribute__((target("avx2"))) INLINE float largest(__m256 v) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

/* Whether a query sees any of `count` positions. */
INLINE bool sees(const struct query *q, int64_t position, int64_t count) {
    if (!q->mask) return true;
    bool visible = false;
    for (int64_t p = 0; p < count; p++) visible |= q->mask[position + p] != HIDDEN;
    return visible;
}

/* The scores of a query for a block, four registers. */
__attribute__((target("avx2,fma,f16c"))) INLINE void score(const struct query *q, int64_t position, int64_t count,
                                                           float scale, int width, const float *keys,
                                                           __m256 scores[BLOCK / LANES]) {
    uint16_t mask[BLOCK];
    for (int p = 0; p < BLOCK; p++) mask[p] = p >= count ? HIDDEN : q->mask ? q->mask[position + p] : 0;
    EACH(part, BLOCK / LANES) {
        __m256 dots[LANES];
        EACH(p, LANES) dots[p] = _mm256_setzero_ps();
        const float *key = keys + part * LANES * width;
        for (int d = 0; d < width; d += LANES) {
            const __m256 numbers = _mm256_loadu_ps(q->numbers + d);
            EACH(p, LANES) dots[p] = _mm256_fmadd_ps(numbers, _mm256_load_ps(key + p * width + d), dots[p]);
        }
        const __m256 masked = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(mask + part * LANES)));
        scores[part] = _mm256_fmadd_ps(sums(dots), _mm256_set1_ps(scale), masked);
    }
}

/* Add the values of a block, each by its weight, to `factor` times what was there. */
__attribute__((target("avx2,fma"))) INLINE void add_values(float *out, float factor, const float weights[BLOCK],
                                                           const float *values, int width) {
    for (int d = 0; d < width; d += 8 * LANES) {
        const int registers = (width - d) / LANES < 8 ? (width - d) / LANES : 8;
        __m256 sum[8];
        for (int r = 0; r < registers; r++)
            sum[r] = _mm256_mul_ps(_mm256_loadu_ps(out + d + r * LANES), _mm256_set1_ps(factor));
        if (registers == 8)
            for (int p = 0; p < BLOCK; p++) {
                const __m256 weight = _mm256_set1_ps(weights[p]);
                EACH(r, 8) sum[r] = _mm256_fmadd_ps(weight, _mm256_load_ps(values + p * width + d + r * LANES), sum[r]);
            }
        else
            for (int p = 0; p < BLOCK; p++)
                for (int r = 0; r < registers; r++)
                    sum[r] = _mm256_fmadd_ps(_mm256_set1_ps(weights[p]),
                                             _mm256_load_ps(values + p * width + d + r * LANES), sum[r]);
        for (int r = 0; r < registers; r++) _mm256_storeu_ps(out + d + r * LANES, sum[r]);
    }
}

__attribute__((target("avx2,fma,f16c"))) static void look_at_block(struct query *q, int64_t position, int64_t count,
                                                                   float scale, const struct tensor *k,
                                                                   const struct tensor *v, const float *keys,
                                                                   const float *values) {
    __m256 scores[BLOCK / LANES];
    score(q, position, count, scale, k->size[0], keys, scores);
    __m256 top = _mm256_max_ps(_mm256_max_ps(scores[0], scores[1]), _mm256_max_ps(scores[2], scores[3]));
    const float most = fmaxf(q->most, largest(top));
    const float factor = _mm256_cvtss_f32(exponential(_mm256_set1_ps(q->most - most)));
    float weights[BLOCK] __attribute__((aligned(32)));
    q->total = _mm256_mul_ps(q->total, _mm256_set1_ps(factor));
    EACH(part, BLOCK / LANES) {
        const __m256 weight = exponential(_mm256_sub_ps(scores[part], _mm256_set1_ps(most)));
        _mm256_store_ps(weights + part * LANES, weight);
        q->total = _mm256_add_ps(q->total, weight);
    }
    q->most = most;
    add_values(q->out, factor, weights, values, v->size[0]);
}

/* Queries of one pair of key and value heads, from the first position to the last. */
__attribute__((target("avx2,fma,f16c"))) static void go_through(struct query *queries, int count, const struct tensor *k,
                                                                const char *k_head, const struct tensor *v,
                                                                const char *v_head, float scale) {
    float keys[BLOCK * WIDEST] __attribute__((aligned(32)));
    float values[BLOCK * WIDEST] __attribute__((aligned(32)));
    for (int64_t position = 0; position < k->size[1]; position += BLOCK) {
        const int64_t left = k->size[1] - position < BLOCK ? k->size[1] - position : BLOCK;
        bool converted = false; /* much of a cache may lie ahead of all rows */
        for (int i = 0; i < count; i++) {
            if (!sees(&queries[i], position, left)) continue;
            if (!converted) {
                convert(k, k_head + position * k->stride[1], left, k->size[0], keys);
                convert(v, v_head + position * v->stride[1], left, v->size[0], values);
                converted = true;
            }
            look_at_block(&queries[i], position, left, scale, k, v, keys, values);
        }
    }
    for (int i = 0; i < count; i++) {
        const __m256 pairs = _mm256_hadd_ps(queries[i].total, queries[i].total);
        const __m256 quads = _mm256_hadd_ps(pairs, pairs);
        const float total = _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(quads), _mm256_extractf128_ps(quads, 1)));
        const float share = total == 0.0f ? 0.0f : 1.0f / total;
        for (int64_t d = 0; d < v->size[0]; d++) queries[i].out[d] *= share;
    }
}

/* Whether the plain case is asked for: half precision, no bias by distance, no cap, no sinks. */
static bool fits(const struct tensor *dst) {
    const struct tensor *q = dst->source[0], *k = dst->source[1], *v = dst->source[2], *mask = dst->source[3];
    float bias, cap;
    memcpy(&bias, dst->parameters + 1, sizeof bias);
    memcpy(&cap, dst->parameters + 2, sizeof cap);
    return on && !dst->source[4] && bias == 0.0f && cap == 0.0f && q->type == F32 && (k->type == F16 || k->type == BF16) &&
           (v->type == F16 || v->type == BF16) && (!mask || mask->type == F16) && k->size[0] % LANES == 0 &&
           v->size[0] % LANES == 0 && k->size[0] <= WIDEST && v->size[0] <= WIDEST && q->stride[0] == sizeof(float) &&
           k->stride[0] == 2 && v->stride[0] == 2;
}

static struct query query_at(const struct tensor *dst, int64_t head, int64_t row, int64_t stream) {
    const struct tensor *q = dst->source[0], *mask = dst->source[3];
    const char *seen = mask ? mask->data + row * mask->stride[1] + head % mask->size[2] * mask->stride[2] +
                                  stream % mask->size[3] * mask->stride[3]
                            : 0;
    const char *numbers = q->data + row * q->stride[1] + head * q->stride[2] + stream * q->stride[3];
    char *out = dst->data + (stream * dst->size[2] * dst->size[1] + head + row * dst->size[1]) * dst->stride[1];
    return (struct query){(const float *)numbers, (const uint16_t *)seen, (float *)out, {0}, -INFINITY};
}

/* Queries are numbered by stream, key head, row and head, so that a thread's share looks at few heads. */
EXPORT void ggml_compute_forward_flash_attn_ext(const struct params *params, struct tensor *dst) {
    if (!fits(dst)) {
        original(params, dst);
        return;
    }
    if (params->thread == 0) calls++;
    const struct tensor *q = dst->source[0], *k = dst->source[1], *v = dst->source[2];
    float scale;
    memcpy(&scale, dst->parameters, sizeof scale);
    const int64_t heads = q->size[2], rows = q->size[1], shared = heads / k->size[2], every = rows * heads;
    const int64_t all = every * q->size[3], end = all * (params->thread + 1) / params->threads;
    struct query queries[GROUP];
    for (int64_t at = all * params->thread / params->threads; at < end;) {
        const int64_t stream = at / every, key_head = at % every / (rows * shared);
        int count = 0;
        for (; at < end && count < GROUP && at / every == stream && at % every / (rows * shared) == key_head; at++) {
            const int64_t within = at % (rows * shared);
            queries[count] = query_at(dst, key_head * shared + within % shared, within / shared, stream);
            memset(queries[count++].out, 0, v->size[0] * sizeof(float));
        }
        const int64_t k_stream = stream / (q->size[3] / k->size[3]), v_stream = stream / (q->size[3] / v->size[3]);
        const int64_t v_head = key_head * shared / (heads / v->size[2]);
        go_through(queries, count, k, k->data + key_head * k->stride[2] + k_stream * k->stride[3], v,
                   v->data + v_head * v->stride[2] + v_stream * v->stride[3], scale);
    }
}

EXPORT void velospec_attention_set_original(void *function) { original = (attention *)function; }

/* Returns whether this processor can. */
EXPORT bool velospec_attention_switch(bool chosen) {
    __builtin_cpu_init();
    on = chosen && original && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    return on;
}

EXPORT long velospec_attention_calls(void) { return calls; }
