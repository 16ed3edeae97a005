// The best allowed id of each row of logits, its value, the second value and the allowed count, in one launch.
//
// A row is split over many blocks. A thread looks at units of 16 bytes of logits: 8 ids of half precision and
// one mask byte, or 4 ids of single precision and half a mask byte; a unit of which no id is allowed is never
// loaded. Each block writes what it found, and the block that finishes a row last reduces the row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "velospec_launch.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "warp reductions in hardware need compute capability 8.0 or later"
#endif

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kMostUnits = 4;       // units a thread loads before it looks at the first
constexpr int kBlocksPerSm = 8;     // blocks of kThreads that are resident together
constexpr int kMostRows = 4096;     // the tickets' place does not depend on a call's rows: calls differ in them
constexpr unsigned kNobody = 0;     // below the key of every number, -inf included
constexpr unsigned kNoId = ~0u;

// What was found so far in a part of a row. Values are keys: unsigned integers in the order of the floats.
struct __align__(16) Found {
  unsigned first;
  unsigned id;
  unsigned second;
  unsigned count;
};

__device__ __forceinline__ unsigned key_of(float value) {
  if (isnan(value)) return kNobody;
  const unsigned bits = __float_as_uint(value + 0.0f);  // -0.0 becomes 0.0, its equal
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float value_of(unsigned key) {
  if (key == kNobody) return -INFINITY;
  return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }
__device__ __forceinline__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T>
union Unit {
  static constexpr int kIds = 16 / sizeof(T);
  uint4 raw;
  T values[kIds];
  __device__ Unit() {}
};

// The allowed ids of unit `unit`, one bit each.
template <int kIds>
__device__ __forceinline__ unsigned allowed_bits(const uint8_t* mask_row, int unit, int vocabulary) {
  const int left = vocabulary - unit * kIds;
  if (left <= 0) return 0;
  unsigned bits = (1u << kIds) - 1u;
  if (mask_row != nullptr) {
    bits &= kIds == 8 ? __ldg(mask_row + unit) : __ldg(mask_row + unit / 2) >> (unit % 2 * 4);
  }
  return left >= kIds ? bits : bits & ((1u << left) - 1u);
}

template <typename T, bool kAligned>
__device__ __forceinline__ void load_unit(Unit<T>& unit, const T* row, int64_t begin, int vocabulary,
                                          unsigned bits) {
  if (kAligned && begin + Unit<T>::kIds <= vocabulary) {
    unit.raw = __ldg(reinterpret_cast<const uint4*>(row + begin));
    return;
  }
#pragma unroll
  for (int i = 0; i < Unit<T>::kIds; ++i) {
    if (bits >> i & 1u) unit.values[i] = row[begin + i];
  }
}

// The warp's findings in all its lanes. Of equals the lowest id wins, and its equal is second.
__device__ __forceinline__ Found reduce_warp(const Found mine) {
  Found all;
  all.first = __reduce_max_sync(~0u, mine.first);
  all.id = __reduce_min_sync(~0u, mine.first == all.first ? mine.id : kNoId);
  const bool winner = mine.first == all.first && mine.id == all.id;
  all.second = __reduce_max_sync(~0u, winner ? mine.second : mine.first);
  all.count = __reduce_add_sync(~0u, mine.count);
  return all;
}

// The block's findings, in the lanes of warp 0 only.
__device__ __forceinline__ Found reduce_block(Found found) {
  __shared__ Found of_warp[kWarps];
  found = reduce_warp(found);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = found;
  __syncthreads();
  if (threadIdx.x < 32) {
    found = threadIdx.x < kWarps ? of_warp[threadIdx.x] : Found{kNobody, kNoId, kNobody, 0};
    found = reduce_warp(found);
  }
  return found;
}

__device__ __forceinline__ void take(Found& found, const Found other) {
  if (other.first > found.first || (other.first == found.first && other.id < found.id)) {
    found.second = max(found.first, other.second);
    found.first = other.first;
    found.id = other.id;
  } else {
    found.second = max(found.second, other.first);
  }
  found.count += other.count;
}

struct Arguments {
  const void* logits;
  int64_t logits_stride;  // elements
  const uint8_t* mask;    // nullptr allows every id
  int64_t mask_stride;    // bytes
  int vocabulary;
  unsigned* tickets;  // [rows], zero between launches
  Found* parts;       // [rows, blocks]
  int* ids;
  float* top1;
  float* top2;
  int* counts;
};

template <typename T, bool kAligned, int kUnits>
__device__ __forceinline__ Found search(const Arguments& args) {
  constexpr int kIds = Unit<T>::kIds;
  const T* row = static_cast<const T*>(args.logits) + blockIdx.y * args.logits_stride;
  const uint8_t* mask_row = args.mask == nullptr ? nullptr : args.mask + blockIdx.y * args.mask_stride;
  const int first_unit = blockIdx.x * kThreads * kUnits + threadIdx.x;
  unsigned bits[kUnits];
  Unit<T> units[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    bits[u] = allowed_bits<kIds>(mask_row, first_unit + u * kThreads, args.vocabulary);
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int64_t begin = static_cast<int64_t>(first_unit + u * kThreads) * kIds;
    if (bits[u] != 0) load_unit<T, kAligned>(units[u], row, begin, args.vocabulary, bits[u]);
  }
  Found found{kNobody, kNoId, kNobody, 0};
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (bits[u] == 0) continue;
    found.count += __popc(bits[u]);
#pragma unroll
    for (int i = 0; i < kIds; ++i) {
      const unsigned key = bits[u] >> i & 1u ? key_of(to_float(units[u].values[i])) : kNobody;
      const bool better = key > found.first;  // ids ascend, so an equal stays second
      found.second = max(found.second, better ? found.first : key);
      found.id = better ? (first_unit + u * kThreads) * kIds + i : found.id;
      found.first = better ? key : found.first;
    }
  }
  return found;
}

template <typename T, bool kAligned, int kUnits>
__global__ void __launch_bounds__(kThreads) grammar_masked_argmax_kernel(const Arguments args) {
  Found found = reduce_block(search<T, kAligned, kUnits>(args));
  const unsigned row = blockIdx.y;
  if (gridDim.x > 1) {
    Found* parts = args.parts + static_cast<int64_t>(row) * gridDim.x;
    __shared__ bool last;
    if (threadIdx.x == 0) {
      __stcg(reinterpret_cast<uint4*>(parts + blockIdx.x),
             make_uint4(found.first, found.id, found.second, found.count));
      __threadfence();
      // The ticket wraps to zero at the last block, ready for the next launch.
      last = atomicInc(args.tickets + row, gridDim.x - 1) == gridDim.x - 1;
      __threadfence();
    }
    __syncthreads();
    if (!last) return;
    found = Found{kNobody, kNoId, kNobody, 0};
    for (unsigned part = threadIdx.x; part < gridDim.x; part += kThreads) {
      const uint4 raw = __ldcg(reinterpret_cast<const uint4*>(parts + part));
      take(found, Found{raw.x, raw.y, raw.z, raw.w});
    }
    found = reduce_block(found);
  }
  if (threadIdx.x == 0) {
    args.ids[row] = found.first == kNobody ? -1 : static_cast<int>(found.id);
    args.top1[row] = value_of(found.first);
    args.top2[row] = value_of(found.second);
    args.counts[row] = static_cast<int>(found.count);
  }
}

int64_t blocks_for(int vocabulary, int ids_per_unit, int units) {
  const int64_t ids = static_cast<int64_t>(kThreads) * units * ids_per_unit;
  return (vocabulary + ids - 1) / ids;
}

constexpr int64_t kTicketBytes = kMostRows * sizeof(unsigned);

template <typename T, bool kAligned, int kUnits>
cudaError_t launch_with(const Arguments& args, int rows, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(blocks_for(args.vocabulary, Unit<T>::kIds, kUnits)), rows);
  grammar_masked_argmax_kernel<T, kAligned, kUnits><<<grid, kThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

template <typename T>
cudaError_t launch(const Arguments& args, int rows, int device, cudaStream_t stream) {
  int multiprocessors = 0;
  const cudaError_t status =
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  // As many blocks as are resident together: fewer leave the memory idle, more wait for their turn.
  int units = 1;
  while (units < kMostUnits &&
         blocks_for(args.vocabulary, Unit<T>::kIds, units) * rows > multiprocessors * kBlocksPerSm) {
    units *= 2;
  }
  const bool aligned = reinterpret_cast<uintptr_t>(args.logits) % 16 == 0 &&
                       (rows == 1 || args.logits_stride * sizeof(T) % 16 == 0);
  if (!aligned) return launch_with<T, false, kMostUnits>(args, rows, stream);
  if (units == 1) return launch_with<T, true, 1>(args, rows, stream);
  if (units == 2) return launch_with<T, true, 2>(args, rows, stream);
  return launch_with<T, true, kMostUnits>(args, rows, stream);
}

}  // namespace

// Bytes of device memory that a launch needs, zeroed once when allocated; each launch leaves it ready for the
// next. One workspace serves one stream at a time.
VELOSPEC_EXPORT int64_t velospec_grammar_masked_argmax_workspace(int rows, int vocabulary) {
  return kTicketBytes +
         blocks_for(vocabulary, Unit<float>::kIds, 1) * rows * static_cast<int64_t>(sizeof(Found));
}

// `dtype`: 0 float32, 1 float16, 2 bfloat16. Device pointers; logits_stride in elements, mask_stride in words.
// Allocates nothing and waits for nothing. Returns a cudaError_t.
VELOSPEC_EXPORT int velospec_grammar_masked_argmax(int device, cudaStream_t stream, int dtype,
                                                   const void* logits, int64_t logits_stride,
                                                   const void* mask, int64_t mask_stride, int rows,
                                                   int vocabulary, void* workspace, int* ids, float* top1,
                                                   float* top2, int* counts) {
  if (rows == 0) return cudaSuccess;
  if (rows > kMostRows) return cudaErrorInvalidValue;
  const velospec::OnDevice here(device);
  if (here.status() != cudaSuccess) return here.status();
  auto* bytes = static_cast<uint8_t*>(workspace);
  const Arguments args{logits,
                       logits_stride,
                       static_cast<const uint8_t*>(mask),
                       mask_stride * 4,
                       vocabulary,
                       reinterpret_cast<unsigned*>(bytes),
                       reinterpret_cast<Found*>(bytes + kTicketBytes),
                       ids,
                       top1,
                       top2,
                       counts};
  if (dtype == 0) return launch<float>(args, rows, device, stream);
  if (dtype == 1) return launch<__half>(args, rows, device, stream);
  if (dtype == 2) return launch<__nv_bfloat16>(args, rows, device, stream);
  return cudaErrorInvalidValue;
}
