/* The quantized formats of ggml that the kernel multiplies, as they lie in memory, and their unpacking. */

#ifndef VELOSPEC_BLOCKS_H
#define VELOSPEC_BLOCKS_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define EACH(i, n) _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++)

enum { BLOCK = 32, SUPER = 256 }; /* weights that share one scale in half precision */

enum type { /* as ggml numbers them */
    F32 = 0,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
};

struct q4_k {
    uint16_t scale, low; /* of the small scales and lows */
    uint8_t small[12];   /* eight scales and eight lows of six bits */
    uint8_t quants[SUPER / 2];
} __attribute__((packed));

struct q5_k {
    uint16_t scale, low;
    uint8_t small[12];
    uint8_t high[SUPER / 8];
    uint8_t quants[SUPER / 2];
} __attribute__((packed));

struct q6_k {
    uint8_t quants[SUPER / 2];
    uint8_t high[SUPER / 4];
    int8_t small[SUPER / 16];
    uint16_t scale;
} __attribute__((packed));

struct q8_k {
    float scale;
    int8_t quants[SUPER];
    int16_t sums[SUPER / 16]; /* of 16 quants each */
} __attribute__((packed));

/* Bytes of a block. */
INLINE size_t block_size(const int type) {
    switch (type) {
    case Q4_0: return 2 + BLOCK / 2;
    case Q4_1: return 4 + BLOCK / 2;
    case Q5_0: return 6 + BLOCK / 2;
    case Q5_1: return 8 + BLOCK / 2;
    case Q8_0: return 2 + BLOCK;
    case Q8_1: return 4 + BLOCK;
    case Q4_K: return sizeof(struct q4_k);
    case Q5_K: return sizeof(struct q5_k);
    case Q6_K: return sizeof(struct q6_k);
    case Q8_K: return sizeof(struct q8_k);
    default: return 0;
    }
}

/* The format of the columns that llama.cpp multiplies weights of `type` with; 0 if the kernel has no such weights. */
INLINE int column_type(const int type) {
    switch (type) {
    case Q4_0:
    case Q5_0:
    case Q8_0: return Q8_0;
    case Q4_1:
    case Q5_1: return Q8_1;
    case Q4_K:
    case Q5_K:
    case Q6_K: return Q8_K;
    default: return 0;
    }
}

/* Whether a block of weights has a lowest value beside its scale. */
INLINE bool has_low(const int type) { return type == Q4_1 || type == Q5_1; }

/* What has to be added to the quants of a weight to make them unsigned. */
INLINE int offset(const int type) { return type == Q8_0 ? 128 : type == Q4_0 ? 8 : type == Q5_0 ? 16 : 0; }

INLINE short half_at(const char *place) {
    short half;
    memcpy(&half, place, sizeof half);
    return half;
}

#endif
