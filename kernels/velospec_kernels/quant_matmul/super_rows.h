/* Products of weights in super-blocks of 256 for one instruction set; quant_matmul.c defines NAME, ROWS and VNNI.
 *
 * Within a super-block all sums are integers, in llama.cpp's eight lanes; one fused multiply-add for each super-block
 * follows. So four rows go through their super-blocks once, for all columns, whose sums wait in memory.
 */

struct NAME(band) { /* a super-block of four weight rows, but their quants */
    VECTOR scales[4 / WIDE][2]; /* the small ones as 16-bit numbers, ready to be shuffled: for each half */
    VECTOR minus[4 / WIDE];     /* Q6_K: -32 times the small scales */
    __m256i lows[2];            /* by pair of small lows, then by row */
    __m128 scale, low;
};

INLINE VECTOR NAME(multiply_add)(VECTOR sums, VECTOR a, VECTOR b) {
#if VNNI == 512
    return _mm512_dpwssd_epi32(sums, a, b);
#elif VNNI == 256
    return _mm256_dpwssd_avx_epi32(sums, a, b);
#else
    return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
#endif
}

/* Put eight numbers of each of two rows into the vectors of a band, where a shuffle reaches them from everywhere. */
INLINE void NAME(place)(struct NAME(band) *band, int pair, int half, __m256i two_rows) {
#if VNNI == 512
    const __m512i twice = _mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3);
    band->scales[pair][half] = _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(two_rows));
#else
    band->scales[2 * pair][half] = _mm256_permute4x64_epi64(two_rows, 0x44);
    band->scales[2 * pair + 1][half] = _mm256_permute4x64_epi64(two_rows, 0xee);
#endif
}

/* The scales and lows of Q4_K and Q5_K. A block begins with two halves and with eight scales and eight lows of six
 * bits, the last four of each in the bits that the others leave over: 16 bytes, here four columns of a matrix. */
INLINE void NAME(open_with_lows)(const char *const rows[4], size_t at, struct NAME(band) *band) {
    __m128i head[4];
    EACH(i, 4) head[i] = _mm_loadu_si128((const __m128i *)(rows[i] + at));
    const __m128i a = _mm_unpacklo_epi32(head[0], head[1]), b = _mm_unpacklo_epi32(head[2], head[3]);
    const __m128i c = _mm_unpackhi_epi32(head[0], head[1]), d = _mm_unpackhi_epi32(head[2], head[3]);
    const __m128i halves = _mm_unpacklo_epi64(a, b), first = _mm_unpackhi_epi64(a, b);
    const __m128i second = _mm_unpacklo_epi64(c, d), third = _mm_unpackhi_epi64(c, d);
    const __m128i six = _mm_set1_epi8(63), four = _mm_set1_epi8(15), two = _mm_set1_epi8(48);
    const __m128i scales = _mm_and_si128(first, six), lows = _mm_and_si128(second, six);
    const __m128i more_scales =
        _mm_or_si128(_mm_and_si128(third, four), _mm_and_si128(_mm_srli_epi16(first, 2), two));
    const __m128i more_lows =
        _mm_or_si128(_mm_and_si128(_mm_srli_epi16(third, 4), four), _mm_and_si128(_mm_srli_epi16(second, 2), two));

    const __m256 both = _mm256_cvtph_ps(
        _mm_shuffle_epi8(halves, _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)));
    band->scale = _mm256_castps256_ps128(both);
    band->low = _mm256_extractf128_ps(both, 1);
    NAME(place)(band, 0, 0, _mm256_cvtepu8_epi16(_mm_unpacklo_epi32(scales, more_scales)));
    NAME(place)(band, 1, 0, _mm256_cvtepu8_epi16(_mm_unpackhi_epi32(scales, more_scales)));
    const __m256i pairs = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1, //
                                           2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1);
    band->lows[0] = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(lows), pairs);
    band->lows[1] = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(more_lows), pairs);
}

/* The scales of Q6_K. */
INLINE void NAME(open_q6_k)(const char *const rows[4], size_t at, struct NAME(band) *band) {
    band->scale = NAME(halves)(rows, at + offsetof(struct q6_k, scale));
    EACH(pair, 2) {
        __m256i small[2];
        EACH(i, 2) {
            const char *place = rows[2 * pair + i] + at + offsetof(struct q6_k, small);
            small[i] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)place));
        }
        NAME(place)(band, pair, 0, _mm256_permute2x128_si256(small[0], small[1], 0x20));
        NAME(place)(band, pair, 1, _mm256_permute2x128_si256(small[0], small[1], 0x31));
        EACH(i, 2) small[i] = _mm256_mullo_epi16(small[i], _mm256_set1_epi16(-32));
#if VNNI == 512
        band->minus[pair] = _mm512_inserti64x4(_mm512_castsi256_si512(small[0]), small[1], 1);
#else
        EACH(i, 2) band->minus[2 * pair + i] = small[i];
#endif
    }
}

/* The quants of one group of a super-block, unsigned: 64 of Q4_K and Q5_K, 128 of Q6_K. */
INLINE void NAME(unpack)(const int type, const char *const *rows, size_t at, int group, VECTOR w[4]) {
    const VECTOR four = OP(set1_epi8)(15), fifth = OP(set1_epi8)(16), sixth = OP(set1_epi8)(48);
    if (type == Q6_K) {
        const VECTOR high = NAME(load)(rows, at + offsetof(struct q6_k, high) + 32 * group);
        EACH(part, 2) {
            const VECTOR both = NAME(load)(rows, at + 64 * group + 32 * part);
            const VECTOR low_bits = part ? OP(slli_epi16)(high, 2) : OP(slli_epi16)(high, 4);
            const VECTOR high_bits = part ? OP(srli_epi16)(high, 2) : high;
            w[part] = ALL(or)(ALL(and)(both, four), ALL(and)(low_bits, sixth));
            w[part + 2] = ALL(or)(ALL(and)(OP(srli_epi16)(both, 4), four), ALL(and)(high_bits, sixth));
        }
        return;
    }
    const size_t quants = type == Q4_K ? offsetof(struct q4_k, quants) : offsetof(struct q5_k, quants);
    const VECTOR both = NAME(load)(rows, at + quants + 32 * group);
    w[0] = ALL(and)(both, four);
    w[1] = ALL(and)(OP(srli_epi16)(both, 4), four);
    if (type == Q5_K) { /* bits 2 * group and the next become the fifth of the quants */
        const VECTOR high = NAME(load)(rows, at + offsetof(struct q5_k, high));
        const __m128i down = _mm_cvtsi32_si128(2 * group);
        const VECTOR bits = OP(srl_epi16)(high, down);
        w[0] = ALL(or)(w[0], ALL(and)(OP(slli_epi16)(bits, 4), fifth));
        w[1] = ALL(or)(w[1], ALL(and)(OP(slli_epi16)(bits, 3), fifth));
    }
}

/* Four rows times the blocks of `n` columns, added to the columns' sums. */
INLINE void NAME(super_tile)(const int type, const int n, const struct NAME(band) *band, const char *const rows[4],
                             size_t at, const char *columns, size_t stride, struct column_sums *sums) {
    const int parts = type == Q6_K ? 4 : 2; /* of a group, 32 quants each */
    float scale[TILE][4];
    const struct q8_k *column[TILE];
    EACH(j, n) {
        column[j] = (const struct q8_k *)(columns + j * stride);
        _mm_storeu_ps(scale[j], _mm_mul_ps(_mm_set1_ps(column[j]->scale), band->scale));
    }
    for (int first = 0; first < 4; first += ROWS) {
        VECTOR total[VECTORS][TILE];
        EACH(v, VECTORS) EACH(j, n) {
            const VECTOR minus = type == Q6_K ? band->minus[first / WIDE + v] : ALL(setzero)();
            total[v][j] = type == Q6_K ? OP(madd_epi16)(NAME(spread)((const char *)column[j] + 260), minus) : minus;
        }
        for (int group = 0; group < SUPER / BLOCK / parts; group++) {
            VECTOR w[VECTORS][4];
            EACH(v, VECTORS) NAME(unpack)(type, rows + first + WIDE * v, at, group, w[v]);
            EACH(part, parts) {
                const VECTOR which = NAME(spread)(type == Q6_K ? two_of[part] : one_of[2 * group + part]);
                VECTOR small[VECTORS];
                EACH(v, VECTORS) small[v] =
                    OP(shuffle_epi8)(band->scales[first / WIDE + v][type == Q6_K ? group : 0], which);
                EACH(j, n) {
                    const VECTOR quants = NAME(spread)(column[j]->quants + BLOCK * (parts * group + part));
                    EACH(v, VECTORS) total[v][j] =
                        NAME(multiply_add)(total[v][j], OP(maddubs_epi16)(w[v][part], quants), small[v]);
                }
            }
        }
        EACH(j, n) EACH(i, ROWS) {
#if VNNI == 512
            const __m256i lanes = i % 2 ? _mm512_extracti64x4_epi64(total[i / 2][j], 1)
                                        : _mm512_castsi512_si256(total[i / 2][j]);
#else
            const __m256i lanes = total[i][j];
#endif
            __m256 *sum = &sums[j].lanes[first + i];
            *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(lanes), _mm256_set1_ps(scale[j][first + i]), *sum);
        }
    }
}

/* The lowest values of four rows' super-blocks times the sums of a column's block, added up in the order of the dot
 * product of Q4_K, four lanes by row, or of Q5_K, one. */
INLINE void NAME(add_lows)(const int type, const struct NAME(band) *band, const char *column,
                           struct column_sums *sums) {
    const __m128i *by_16 = (const __m128i *)(column + offsetof(struct q8_k, sums));
    const __m256i by_32 =
        _mm256_castsi128_si256(_mm_hadd_epi16(_mm_loadu_si128(by_16), _mm_loadu_si128(by_16 + 1)));
    const __m128 scale = _mm_mul_ps(_mm_set1_ps(-((const struct q8_k *)column)->scale), band->low);
    const __m256i first = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), second = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
    const __m256i products[2] = {
        _mm256_madd_epi16(band->lows[0], _mm256_permutevar8x32_epi32(by_32, first)),
        _mm256_madd_epi16(band->lows[1], _mm256_permutevar8x32_epi32(by_32, second)),
    };
    if (type == Q4_K) {
        const __m256 scales = _mm256_set_m128(scale, scale);
        EACH(pair, 2)
            sums->lows[pair] = _mm256_fmadd_ps(scales, _mm256_cvtepi32_ps(products[pair]), sums->lows[pair]);
    } else {
        const __m256i both = _mm256_add_epi32(products[0], products[1]);
        const __m128i all = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        const __m128 sum = _mm_fmadd_ps(scale, _mm_cvtepi32_ps(all), _mm256_castps256_ps128(sums->lows[0]));
        sums->lows[0] = _mm256_castps128_ps256(sum);
    }
}

/* What the lowest values of four rows add to a column's elements. */
INLINE __m128 NAME(sum_lows)(const int type, const struct column_sums *sums) {
    if (type == Q5_K) return _mm256_castps256_ps128(sums->lows[0]);
    const __m256 pairs = _mm256_add_ps(sums->lows[0], sums->lows[1]);
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

/* Four weight rows times all columns of a panel; `columns` lie as llama.cpp made them. */
INLINE void NAME(super_band)(const int type, const struct product *p, const char *const rows[4], const char *columns,
                             int64_t count, float *out, int stored) {
    struct column_sums sums[PANEL];
    struct NAME(band) band;
    memset(sums, 0, count * sizeof sums[0]);
    for (int64_t b = 0; b < p->blocks; b++, columns += sizeof(struct q8_k)) {
        const size_t at = b * block_size(type), stride = p->column_stride;
        prefetch(rows[0] + p->ahead + 4 * at, 4 * block_size(type));
        if (type == Q6_K)
            NAME(open_q6_k)(rows, at, &band);
        else
            NAME(open_with_lows)(rows, at, &band);
        for (int64_t j = 0; j < count; j += TILE) {
            const char *tile = columns + j * stride;
            switch (count - j) {
            case 1: NAME(super_tile)(type, 1, &band, rows, at, tile, stride, sums + j); break;
            case 2: NAME(super_tile)(type, 2, &band, rows, at, tile, stride, sums + j); break;
            case 3: NAME(super_tile)(type, 3, &band, rows, at, tile, stride, sums + j); break;
            default: NAME(super_tile)(type, TILE, &band, rows, at, tile, stride, sums + j); break;
            }
        }
        if (type != Q6_K)
            for (int64_t j = 0; j < count; j++) NAME(add_lows)(type, &band, columns + j * stride, sums + j);
    }
    for (int64_t j = 0; j < count; j++) {
        const __m256 *lanes = sums[j].lanes;
        __m128 made = NAME(sum)(NAME(fold)(lanes[0], lanes[1]), NAME(fold)(lanes[2], lanes[3]));
        if (type != Q6_K) made = _mm_add_ps(made, NAME(sum_lows)(type, &sums[j]));
        store(made, out + j * p->out_stride, stored);
    }
}
