/* Products of weights in blocks of 32 for one instruction set; see rows.h. */

#if VNNI == 512
#define FLOATS __m512
#else
#define FLOATS __m256
#endif

/* The dot product instructions multiply unsigned by signed bytes. Quants are made unsigned by an offset, which the
 * bias of the column takes off again; Q8_0 without VNNI moves the sign over to the column, since 16-bit sums would
 * overflow. All give the same integers as llama.cpp. */
INLINE FLOATS NAME(dot)(const int type, VECTOR w, VECTOR q, VECTOR bias) {
#if VNNI == 512
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(bias, w, q));
#elif VNNI == 256
    return _mm256_cvtepi32_ps(_mm256_dpbusd_avx_epi32(bias, w, q));
#else
    const __m256i ones = _mm256_set1_epi16(1);
    if (type == Q8_0) {
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w));
        return _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, ones));
    }
    const __m256i sums = _mm256_madd_epi16(_mm256_maddubs_epi16(w, q), ones);
    return _mm256_cvtepi32_ps(offset(type) ? _mm256_add_epi32(sums, bias) : sums);
#endif
}

/* 32 bytes of a column for all rows of a vector. */
INLINE VECTOR NAME(spread)(const void *at) {
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
#if VNNI == 512
    return _mm512_broadcast_i64x4(bytes);
#else
    return bytes;
#endif
}

/* 32 bytes at the same place of the rows of a vector. */
INLINE VECTOR NAME(load)(const char *const *rows, size_t at) {
    const __m256i first = _mm256_loadu_si256((const __m256i *)(rows[0] + at));
#if VNNI == 512
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), _mm256_loadu_si256((const __m256i *)(rows[1] + at)), 1);
#else
    return first;
#endif
}

/* 16 bytes of each row, twice. */
INLINE VECTOR NAME(load_twice)(const char *const *rows, size_t at) {
    const __m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(rows[0] + at)));
#if VNNI == 512
    const __m256i second = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(rows[1] + at)));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
#else
    return first;
#endif
}

/* Add 16 to the quants whose bits are set, 32 bits at a place of each row. */
INLINE VECTOR NAME(add_fifth)(VECTOR quants, const char *const *rows, size_t at) {
    uint32_t bits[2];
    EACH(i, WIDE) memcpy(&bits[i], rows[i] + at, sizeof bits[i]);
#if VNNI == 512
    const __mmask64 which = (uint64_t)bits[1] << 32 | bits[0];
    return _mm512_mask_add_epi8(quants, which, quants, _mm512_set1_epi8(16));
#else
    const __m256i byte_of = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i own = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m256i set = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)bits[0]), byte_of), own);
    return _mm256_or_si256(quants, _mm256_and_si256(_mm256_cmpeq_epi8(set, own), _mm256_set1_epi8(16)));
#endif
}

/* The quants of a block of each row, unsigned, but those of Q8_0 as they are without VNNI. */
INLINE VECTOR NAME(quants)(const int type, const char *const *rows, size_t at) {
    if (type == Q8_0) {
        const VECTOR quants = NAME(load)(rows, at + 2);
        return VNNI ? ALL(xor)(quants, OP(set1_epi8)((char)0x80)) : quants;
    }
    const VECTOR shifts = NAME(spread)(none_then_four);
    const VECTOR both = NAME(load_twice)(rows, at + block_size(type) - BLOCK / 2);
    const VECTOR quants = ALL(and)(OP(srlv_epi32)(both, shifts), OP(set1_epi8)(15));
    if (type == Q5_0) return NAME(add_fifth)(quants, rows, at + 2);
    return type == Q5_1 ? NAME(add_fifth)(quants, rows, at + 4) : quants;
}

/* Two elements, first half: their eight lanes become two each, in llama.cpp's order. */
INLINE __m128 NAME(fold)(__m256 a, __m256 b) {
    const __m128 first = _mm_add_ps(_mm256_extractf128_ps(a, 1), _mm256_castps256_ps128(a));
    const __m128 second = _mm_add_ps(_mm256_extractf128_ps(b, 1), _mm256_castps256_ps128(b));
    return _mm_add_ps(_mm_movelh_ps(first, second), _mm_movehl_ps(second, first));
}

/* Four elements, second half: two lanes become one. */
INLINE __m128 NAME(sum)(__m128 first, __m128 second) {
    return _mm_add_ps(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)),
                      _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1)));
}

/* A half-precision number of four weight rows' blocks, `at` bytes into each. */
INLINE __m128 NAME(halves)(const char *const rows[4], size_t at) {
    return _mm_cvtph_ps(_mm_setr_epi16(half_at(rows[0] + at), half_at(rows[1] + at), half_at(rows[2] + at),
                                       half_at(rows[3] + at), 0, 0, 0, 0));
}

/* The scales of four weight rows, then their lowest values if there are any: eight floats for each block. */
INLINE void NAME(open_blocks)(const int type, const struct product *p, const char *const rows[4]) {
    const __m128i order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    for (int64_t b = 0; b < p->blocks; b++) {
        int32_t head[4];
        EACH(i, 4) memcpy(&head[i], rows[i] + b * block_size(type), sizeof head[i]);
        const __m128i halves = _mm_shuffle_epi8(_mm_setr_epi32(head[0], head[1], head[2], head[3]), order);
        if (has_low(type))
            _mm256_store_ps(p->heads + 8 * b, _mm256_cvtph_ps(halves));
        else
            _mm_store_ps(p->heads + 8 * b, _mm_cvtph_ps(halves));
    }
}

/* The scales of the vector `v` of rows, each in all lanes, out of those of four rows. */
INLINE FLOATS NAME(scales_of)(const float *four, int v) {
#if VNNI == 512
    const __m512 all = _mm512_broadcast_f32x4(_mm_load_ps(four));
    const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    return _mm512_permutevar_ps(all, v ? _mm512_add_epi32(first, _mm512_set1_epi32(2)) : first);
#else
    return _mm256_set1_ps(four[v]);
#endif
}

/* Products of the scales of four weight rows and `n` columns, four floats for each block and column. Made beforehand
 * for vectors of one row: broadcasting each from memory costs nothing. */
INLINE void NAME(multiply_scales)(const int n, const struct product *p, const struct column_scale *columns) {
    for (int64_t b = 0; b < p->blocks; b++, columns += n)
        EACH(j, n) {
            const __m128 products = _mm_mul_ps(_mm_load_ps(p->heads + 8 * b), _mm_set1_ps(columns[j].scale));
            _mm_store_ps(p->products + 4 * (b * n + j), products);
        }
}

/* Four weight rows times the `n` columns of one packed tile; `type` and `n` are constants wherever this is used. */
INLINE void NAME(tile)(const int type, const int n, const int fetch, const struct product *p,
                       const char *const rows[4], const char *packed, __m128 out[TILE]) {
    const struct column_block *first_column = (const struct column_block *)packed;
    const struct column_scale *first_scale = (const struct column_scale *)(first_column + n * p->blocks);
    __m128 folded[2][TILE], lows[TILE];
    if (WIDE == 1) NAME(multiply_scales)(n, p, first_scale);
    EACH(j, n) lows[j] = _mm_setzero_ps();
    for (int first = 0; first < 4; first += ROWS) {
        const struct column_block *column = first_column;
        const struct column_scale *scale = first_scale;
        const char *ahead = rows[0] + p->ahead + first * p->blocks * block_size(type);
        FLOATS sums[VECTORS][TILE];
        EACH(v, VECTORS) EACH(j, n) sums[v][j] = OP(setzero_ps)();
        for (int64_t b = 0; b < p->blocks; b++, column += n, scale += n) {
            if (fetch) prefetch(ahead + b * ROWS * block_size(type), ROWS * block_size(type));
            VECTOR w[VECTORS];
            FLOATS scales[VECTORS];
            EACH(v, VECTORS) {
                w[v] = NAME(quants)(type, rows + first + WIDE * v, b * block_size(type));
                scales[v] = NAME(scales_of)(p->heads + 8 * b + first, v);
            }
            EACH(j, n) {
                if (has_low(type) && first == 0) {
                    const __m128 low = _mm_load_ps(p->heads + 8 * b + 4);
                    lows[j] = _mm_fmadd_ps(low, _mm_set1_ps(scale[j].sum), lows[j]);
                }
                const VECTOR quants = NAME(spread)(column[j].quants);
                const VECTOR bias = offset(type) ? NAME(spread)(column[j].bias) : ALL(setzero)();
                EACH(v, VECTORS) {
                    const FLOATS dots = NAME(dot)(type, w[v], quants, bias);
                    const FLOATS product = WIDE == 1 ? OP(set1_ps)(p->products[4 * (b * n + j) + first + v])
                                                     : OP(mul_ps)(scales[v], OP(set1_ps)(scale[j].scale));
                    sums[v][j] = OP(fmadd_ps)(dots, product, sums[v][j]);
                }
            }
        }
        EACH(j, n) EACH(pair, ROWS / 2) {
#if VNNI == 512
            const __m512d both = _mm512_castps_pd(sums[pair][j]);
            folded[pair][j] = NAME(fold)(_mm512_castps512_ps256(sums[pair][j]),
                                         _mm256_castpd_ps(_mm512_extractf64x4_pd(both, 1)));
#else
            folded[first / 2][j] = NAME(fold)(sums[0][j], sums[1][j]);
#endif
        }
    }
    EACH(j, n) out[j] = NAME(sum)(folded[0][j], folded[1][j]);
    if (has_low(type))
        EACH(j, n) out[j] = _mm_add_ps(out[j], lows[j]);
}

/* Four weight rows times all columns of a panel. The first tile fetches what the next rows need. */
INLINE void NAME(block_band)(const int type, const struct product *p, const char *const rows[4], const char *panel,
                             int64_t columns, float *out, int count) {
    NAME(open_blocks)(type, p, rows);
    for (int64_t j = 0; j < columns; j += TILE, panel += tile_size(TILE, p->blocks)) {
        const int64_t n = columns - j < TILE ? columns - j : TILE;
        __m128 made[TILE];
        switch (n) {
        case 1: NAME(tile)(type, 1, j == 0, p, rows, panel, made); break;
        case 2: NAME(tile)(type, 2, j == 0, p, rows, panel, made); break;
        case 3: NAME(tile)(type, 3, j == 0, p, rows, panel, made); break;
        default:
            if (j == 0)
                NAME(tile)(type, TILE, 1, p, rows, panel, made);
            else
                NAME(tile)(type, TILE, 0, p, rows, panel, made);
        }
        for (int64_t i = 0; i < n; i++) store(made[i], out + (j + i) * p->out_stride, count);
    }
}

#undef FLOATS
