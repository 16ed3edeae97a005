// A row of logits beside its packed mask, as a warp reads them: units of 16 bytes, one lane beside the other.
//
// A register of 32 bits holds two logits of half precision or one of single precision (`Register`). A warp takes
// a chunk of kUnits units a lane; its mask words are loaded side by side and handed out by shuffles. A unit
// without an allowed id is never loaded. Forbidden ids become NaN, which no maximum takes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace velospec {

constexpr unsigned kAll = ~0u;

// `word` with the most significant bits of its bytes 0 and 2 spread over its lower and its upper half.
__device__ __forceinline__ unsigned spread_signs(unsigned word) {
  unsigned spread;
  asm("prmt.b32 %0, %1, %1, 0xAA88;" : "=r"(spread) : "r"(word));
  return spread;
}

template <typename Pair>
__device__ __forceinline__ Pair as_pair(unsigned word) {
  return *reinterpret_cast<Pair*>(&word);
}

template <typename Pair>
__device__ __forceinline__ unsigned as_word(Pair pair) {
  return *reinterpret_cast<unsigned*>(&pair);
}

// Logits in one register. `max` and `top` pass over NaN; `equal` gives all bits of each logit that equals.
template <typename T>
struct Register;

template <>
struct Register<float> {
  static constexpr int kIds = 1;
  __device__ static unsigned max(unsigned a, unsigned b) {
    return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  }
  __device__ static unsigned equal(unsigned a, unsigned b) {
    return __uint_as_float(a) == __uint_as_float(b) ? kAll : 0;
  }
  __device__ static float top(unsigned a) { return __uint_as_float(a); }
  __device__ static unsigned splat(float value) { return __float_as_uint(value); }
  __device__ static float at(unsigned a, int) { return __uint_as_float(a); }
  // All bits where id `index` of a unit with the allowed ids `bits` is forbidden.
  __device__ static unsigned forbidden(unsigned bits, int index) { return (bits >> index & 1u) - 1u; }
};

template <typename T>
struct HalfRegister {
  static constexpr int kIds = 2;
  __device__ static unsigned forbidden(unsigned bits, int index) {
    return ~spread_signs((bits | bits << 15) << (7 - 2 * index));
  }
};

template <>
struct Register<__nv_bfloat16> : HalfRegister<__nv_bfloat16> {
  using Pair = __nv_bfloat162;
  __device__ static unsigned max(unsigned a, unsigned b) {
    return as_word(__hmax2(as_pair<Pair>(a), as_pair<Pair>(b)));
  }
  __device__ static unsigned equal(unsigned a, unsigned b) {
    return __heq2_mask(as_pair<Pair>(a), as_pair<Pair>(b));
  }
  __device__ static float at(unsigned a, int index) {
    return index ? __high2float(as_pair<Pair>(a)) : __low2float(as_pair<Pair>(a));
  }
  __device__ static float top(unsigned a) { return fmaxf(at(a, 0), at(a, 1)); }
  __device__ static unsigned splat(float value) { return as_word(__float2bfloat162_rn(value)); }
};

template <>
struct Register<__half> : HalfRegister<__half> {
  using Pair = __half2;
  __device__ static unsigned max(unsigned a, unsigned b) {
    return as_word(__hmax2(as_pair<Pair>(a), as_pair<Pair>(b)));
  }
  __device__ static unsigned equal(unsigned a, unsigned b) {
    return __heq2_mask(as_pair<Pair>(a), as_pair<Pair>(b));
  }
  __device__ static float at(unsigned a, int index) {
    return index ? __high2float(as_pair<Pair>(a)) : __low2float(as_pair<Pair>(a));
  }
  __device__ static float top(unsigned a) { return fmaxf(at(a, 0), at(a, 1)); }
  __device__ static unsigned splat(float value) { return as_word(__float2half2_rn(value)); }
};

// One row. `mask` nullptr allows every id. kAligned: `logits` is known to lie at a multiple of 16 bytes.
template <typename T, bool kAligned>
struct LogitRow {
  static constexpr int kRegisters = 4;
  static constexpr int kIds = 16 / sizeof(T);       // of a unit
  static constexpr int kUnitsPerWord = 32 / kIds;  // of the mask

  const T* logits;
  const unsigned* mask;
  int vocabulary;

  // The allowed ids of word `index`; bits past the vocabulary are none.
  __device__ __forceinline__ unsigned word(int index) const {
    const int left = vocabulary - index * 32;
    if (left <= 0) return 0;
    const unsigned bits = mask == nullptr ? kAll : mask[index];
    return left >= 32 ? bits : bits & ((1u << left) - 1u);
  }

  // Unit `unit` of which the ids `bits` are allowed; forbidden ids are NaN.
  __device__ __forceinline__ void load(int unit, unsigned bits, unsigned (&registers)[kRegisters]) const {
    const T* begin = logits + static_cast<int64_t>(unit) * kIds;
    if constexpr (!kAligned) {
      if (reinterpret_cast<uintptr_t>(begin) % 16 != 0) return load_apart(begin, bits, registers);
    }
    // A row's last unit is read whole: what lies past the row in these 16 bytes cannot be out of reach.
    const uint4 raw = *reinterpret_cast<const uint4*>(begin);
    registers[0] = raw.x, registers[1] = raw.y, registers[2] = raw.z, registers[3] = raw.w;
  }

  __device__ __forceinline__ static void load_apart(const T* begin, unsigned bits,
                                                    unsigned (&registers)[kRegisters]) {
    T values[kIds];
#pragma unroll
    for (int i = 0; i < kIds; ++i) {
      if (bits >> i & 1u) values[i] = begin[i];
    }
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) registers[r] = reinterpret_cast<const unsigned*>(values)[r];
  }
};

// Row `index` of a matrix of logits and of masks, whose rows are `stride` elements and `mask_stride` words apart.
template <typename T, bool kAligned>
__device__ __forceinline__ LogitRow<T, kAligned> row_of(const void* logits, int64_t stride, const unsigned* mask,
                                                        int64_t mask_stride, int vocabulary, int64_t index) {
  return LogitRow<T, kAligned>{static_cast<const T*>(logits) + index * stride,
                               mask == nullptr ? nullptr : mask + index * mask_stride, vocabulary};
}

// What one lane holds of a chunk: kUnits units, unit u of the warp's 32 * u and following.
template <typename T, bool kAligned, int kUnits>
struct Chunk {
  using Row = LogitRow<T, kAligned>;
  static constexpr int kRegisters = Row::kRegisters;
  static constexpr int kWords = 32 * kUnits / Row::kUnitsPerWord;  // of the mask, for the whole warp
  static constexpr int kIds = 32 * kUnits * Row::kIds;             // of the whole warp
  static_assert(kWords <= 32, "a lane loads at most one word of the mask");

  unsigned registers[kUnits][kRegisters];
  int first_unit;  // of the warp
  unsigned count;  // allowed ids in this lane's mask word: its sum over the warp is the chunk's

  __device__ __forceinline__ Chunk(const Row& row, int chunk) : first_unit(chunk * 32 * kUnits) {
    const int lane = threadIdx.x % 32;
    const unsigned word = lane < kWords ? row.word(chunk * kWords + lane) : 0;
    count = __popc(word);
    unsigned bits[kUnits];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int place = u * 32 + lane;
      const unsigned shared = __shfl_sync(kAll, word, place / Row::kUnitsPerWord);
      bits[u] = shared >> (place % Row::kUnitsPerWord * Row::kIds) & ((1u << Row::kIds) - 1u);
    }
    // All loads first, so that they are on their way together.
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
#pragma unroll
      for (int r = 0; r < kRegisters; ++r) registers[u][r] = kAll;
      if (bits[u] != 0) row.load(unit(u), bits[u], registers[u]);
    }
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
#pragma unroll
      for (int r = 0; r < kRegisters; ++r) registers[u][r] |= Register<T>::forbidden(bits[u], r);
    }
  }

  __device__ __forceinline__ int unit(int u) const { return first_unit + u * 32 + threadIdx.x % 32; }
};

}  // namespace velospec
