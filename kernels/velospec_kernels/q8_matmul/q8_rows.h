/* The rows of a product for one instruction set; see q8_matmul.c, which defines NAME, ROWS, UNSIGNED and DOT. */

#ifndef EACH
#define EACH(i, n) _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++)
#endif

/* The eight lanes of an element, in llama.cpp's order. */
INLINE float NAME(sum)(__m256 lanes) {
    __m128 half = _mm_add_ps(_mm256_extractf128_ps(lanes, 1), _mm256_castps256_ps128(lanes));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

/* Products of the scales of `r` weight rows and `n` columns, four floats for each block and column.
 * Made beforehand: in the main loop each would be stored and awaited right away. */
INLINE void NAME(multiply_scales)(const int r, const int n, const struct product *p, const char *weights,
                                  const float *columns) {
    for (int64_t b = 0; b < p->blocks; b++) {
        __m128i halves = _mm_setzero_si128();
#define SCALE(i) ((const struct block *)(weights + (i) * p->weight_stride))[b].scale
        halves = _mm_insert_epi16(halves, SCALE(0), 0);
        if (r > 1) halves = _mm_insert_epi16(halves, SCALE(1), 1);
        if (r > 2) halves = _mm_insert_epi16(halves, SCALE(2), 2);
        if (r > 3) halves = _mm_insert_epi16(halves, SCALE(3), 3);
#undef SCALE
        const __m128 scales = _mm_cvtph_ps(halves);
        EACH(j, n)
            _mm_store_ps(p->scales + (b * n + j) * 4, _mm_mul_ps(scales, _mm_set1_ps(columns[b * n + j])));
    }
}

/* `r` weight rows times the `n` columns of one packed tile. Both are constants wherever this is used. */
INLINE void NAME(tile)(const int r, const int n, const int fetch, const struct product *p, const char *weights,
                       const char *packed, float *out) {
    const struct column_block *column = (const struct column_block *)packed;
    NAME(multiply_scales)(r, n, p, weights, (const float *)(column + n * p->blocks));
    const float *scale = p->scales;
    __m256 sums[ROWS][TILE];
    EACH(i, r) EACH(j, n) sums[i][j] = _mm256_setzero_ps();
    for (int64_t b = 0; b < p->blocks; b++, column += n, scale += 4 * n) {
        if (fetch)
            for (size_t byte = 0; byte < r * sizeof(struct block); byte += 64)
                _mm_prefetch(weights + AHEAD + b * r * sizeof(struct block) + byte, _MM_HINT_T0);
        __m256i w[ROWS], unsigned_w[ROWS];
        EACH(i, r) {
            const struct block *block = (const struct block *)(weights + i * p->weight_stride) + b;
            w[i] = _mm256_loadu_si256((const __m256i *)block->quants);
            unsigned_w[i] = UNSIGNED(w[i]);
        }
        EACH(j, n) {
            const __m256i bias = _mm256_load_si256((const __m256i *)column[j].bias);
            const __m256i quants = _mm256_load_si256((const __m256i *)column[j].quants);
            EACH(i, r) {
                const __m256 dot = _mm256_cvtepi32_ps(DOT(bias, unsigned_w[i], w[i], quants));
                sums[i][j] = _mm256_fmadd_ps(dot, _mm256_set1_ps(scale[4 * j + i]), sums[i][j]);
            }
        }
    }
    EACH(j, n) EACH(i, r) out[j * p->out_stride + i] = NAME(sum)(sums[i][j]);
}

/* `r` weight rows times all columns of a panel. The first tile fetches what the next rows need. */
INLINE void NAME(band)(const int r, const struct product *p, const char *weights, const char *panel, int64_t columns,
                       float *out) {
    int64_t j = 0;
    for (; j + TILE <= columns; j += TILE, panel += tile_size(TILE, p->blocks)) {
        if (j == 0)
            NAME(tile)(r, TILE, 1, p, weights, panel, out);
        else
            NAME(tile)(r, TILE, 0, p, weights, panel, out + j * p->out_stride);
    }
    out += j * p->out_stride;
    switch (columns - j) {
    case 3: NAME(tile)(r, 3, j == 0, p, weights, panel, out); break;
    case 2: NAME(tile)(r, 2, j == 0, p, weights, panel, out); break;
    case 1: NAME(tile)(r, 1, j == 0, p, weights, panel, out); break;
    default: break;
    }
}

static void NAME(rows)(const struct product *p, const char *panel, int64_t columns, float *out, int64_t from,
                       int64_t to) {
    int64_t row = from;
    for (; row + ROWS <= to; row += ROWS)
        NAME(band)(ROWS, p, p->weights + row * p->weight_stride, panel, columns, out + row);
    for (; row < to; row++) NAME(band)(1, p, p->weights + row * p->weight_stride, panel, columns, out + row);
}

#undef NAME
#undef ROWS
#undef UNSIGNED
#undef DOT
