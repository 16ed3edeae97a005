// The best allowed id of each row of logits, its value, the second value and the allowed count, in one launch.
//
// A row is split over warps, each of which reads one chunk and publishes what it found as one 16-byte word with a
// flag in it. The row's last block waits for these words, empties them for the next launch, and reduces them:
// no fence, no ticket, one trip to the second-level cache.
#include "velospec_launch.cuh"
#include "velospec_logits.cuh"

namespace {

using velospec::kAll;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kUnits = 4;
constexpr unsigned kNobody = 0;  // below the key of every number, -inf included
constexpr unsigned kNoId = ~0u;
constexpr unsigned kPublished = 1u << 31;  // in the count of a word; empty words are zero

// What was found in a part of a row. Values are keys: unsigned integers in the order of the floats.
struct __align__(16) Found {
  unsigned first;
  unsigned id;
  unsigned second;
  unsigned count;
};

__device__ __forceinline__ Found nothing() { return Found{kNobody, kNoId, kNobody, 0}; }

__device__ __forceinline__ unsigned key_of(float value) {
  if (isnan(value)) return kNobody;
  const unsigned bits = __float_as_uint(value + 0.0f);  // -0.0 becomes 0.0, its equal
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float value_of(unsigned key) {
  if (key == kNobody) return -INFINITY;
  return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

// The warp's findings in all its lanes. Of equals the lowest id wins, and its equal is second.
__device__ __forceinline__ Found reduce_warp(const Found mine) {
  Found all;
  all.first = __reduce_max_sync(kAll, mine.first);
  all.id = __reduce_min_sync(kAll, mine.first == all.first ? mine.id : kNoId);
  const bool winner = mine.first == all.first && mine.id == all.id;
  all.second = __reduce_max_sync(kAll, winner ? mine.second : mine.first);
  all.count = __reduce_add_sync(kAll, mine.count);
  return all;
}

__device__ __forceinline__ void take(Found& found, const Found& other) {
  if (other.first > found.first || (other.first == found.first && other.id < found.id)) {
    found.second = max(found.first, other.second);
    found.first = other.first;
    found.id = other.id;
  } else {
    found.second = max(found.second, other.first);
  }
  found.count += other.count;
}

// Whole 16-byte words in one piece: who sees the flag sees the rest.
__device__ __forceinline__ void store_word(Found* word, const Found& found) {
  const uint64_t low = found.first | static_cast<uint64_t>(found.id) << 32;
  const uint64_t high = found.second | static_cast<uint64_t>(found.count) << 32;
  asm volatile("{ .reg .b128 whole; mov.b128 whole, {%1, %2}; st.relaxed.gpu.global.b128 [%0], whole; }"
               :: "l"(word), "l"(low), "l"(high) : "memory");
}

__device__ __forceinline__ Found load_word(const Found* word) {
  uint64_t low, high;
  asm volatile("{ .reg .b128 whole; ld.relaxed.gpu.global.b128 whole, [%2]; mov.b128 {%0, %1}, whole; }"
               : "=l"(low), "=l"(high) : "l"(word) : "memory");
  Found found;
  found.first = static_cast<unsigned>(low);
  found.id = static_cast<unsigned>(low >> 32);
  found.second = static_cast<unsigned>(high);
  found.count = static_cast<unsigned>(high >> 32);
  return found;
}

// Waits for a warp's word and leaves it empty.
__device__ __forceinline__ Found collect(Found* word) {
  Found found;
  do found = load_word(word);
  while (!(found.count & kPublished));
  store_word(word, Found{0, 0, 0, 0});
  found.count ^= kPublished;
  return found;
}

// What a warp finds in its chunk. Lanes keep the maximum of each unit, so that only a unit which has the warp's
// maximum is searched for its id, and for the second value.
template <typename T, bool kAligned>
__device__ __forceinline__ Found search(const velospec::LogitRow<T, kAligned>& row, int index) {
  using R = velospec::Register<T>;
  const velospec::Chunk<T, kAligned, kUnits> chunk(row, index);
  unsigned best_of_unit[kUnits];
  unsigned best;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    best_of_unit[u] = chunk.registers[u][0];
#pragma unroll
    for (int r = 1; r < chunk.kRegisters; ++r) best_of_unit[u] = R::max(best_of_unit[u], chunk.registers[u][r]);
    best = u == 0 ? best_of_unit[u] : R::max(best, best_of_unit[u]);
  }
  Found found;
  const float top = R::top(best);
  const unsigned key = key_of(top);
  found.first = __reduce_max_sync(kAll, key);
  found.count = __reduce_add_sync(kAll, chunk.count);
  unsigned id = kNoId;
  float second = top;
  if (key == found.first && key != kNobody) {
    const unsigned wanted = R::splat(top);
    unsigned rest = R::splat(NAN);
    int equal_bits = 0;
#pragma unroll
    for (int u = kUnits - 1; u >= 0; --u) {
      if (R::equal(best_of_unit[u], wanted) == 0) {
        rest = R::max(rest, best_of_unit[u]);
        continue;
      }
#pragma unroll
      for (int r = chunk.kRegisters - 1; r >= 0; --r) {
        const unsigned equal = R::equal(chunk.registers[u][r], wanted);
        rest = R::max(rest, chunk.registers[u][r] | equal);
        equal_bits += __popc(equal);
        if (equal != 0) {
          const int in_unit = r * R::kIds + (R::kIds == 2 && (equal & 0xffffu) == 0);
          id = chunk.unit(u) * row.kIds + in_unit;
        }
      }
    }
    second = equal_bits > 32 / R::kIds ? top : R::top(rest);
  }
  found.id = __reduce_min_sync(kAll, id);
  found.second = __reduce_max_sync(kAll, key_of(id == found.id ? second : top));
  return found;
}

struct Arguments {
  const void* logits;
  int64_t logits_stride;  // elements
  const unsigned* mask;   // nullptr allows every id
  int64_t mask_stride;    // words
  int vocabulary;
  Found* words;  // [rows, warps of a row], zero between launches
  int* ids;
  float* top1;
  float* top2;
  int* counts;
};

template <typename T, bool kAligned>
__global__ void __launch_bounds__(kThreads) grammar_masked_argmax_kernel(const Arguments args) {
  velospec::wait_for_kernel_before();
  velospec::let_next_kernel_start();
  const int64_t row = blockIdx.y;
  const int warp = threadIdx.x / 32;
  const bool leader = threadIdx.x % 32 == 0;
  const int warps_of_row = gridDim.x * kWarps;
  Found* words = args.words + row * warps_of_row;
  const auto logits = velospec::row_of<T, kAligned>(args.logits, args.logits_stride, args.mask, args.mask_stride,
                                                    args.vocabulary, row);
  Found found = search(logits, blockIdx.x * kWarps + warp);
  if (leader) {
    found.count |= kPublished;
    store_word(words + blockIdx.x * kWarps + warp, found);
  }
  // Blocks start in the order of their indices, so the last has the least to wait for.
  if (blockIdx.x != gridDim.x - 1) return;
  found = nothing();
  for (int word = threadIdx.x; word < warps_of_row; word += kThreads) take(found, collect(words + word));
  __shared__ Found of_warp[kWarps];
  found = reduce_warp(found);
  if (leader) of_warp[warp] = found;
  __syncthreads();
  if (warp != 0) return;
  found = reduce_warp(threadIdx.x < kWarps ? of_warp[threadIdx.x] : nothing());
  if (leader) {
    args.ids[row] = found.first == kNobody ? -1 : static_cast<int>(found.id);
    args.top1[row] = value_of(found.first);
    args.top2[row] = value_of(found.second);
    args.counts[row] = static_cast<int>(found.count);
  }
}

int64_t blocks_for(int vocabulary, int ids_per_unit) {
  const int64_t ids = static_cast<int64_t>(kThreads) * kUnits * ids_per_unit;
  return (vocabulary + ids - 1) / ids;
}

template <typename T>
cudaError_t launch(Arguments args, int rows, const velospec::Device& device, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(args.vocabulary, 16 / sizeof(T)));
  const bool aligned = reinterpret_cast<uintptr_t>(args.logits) % 16 == 0 &&
                       (rows == 1 || args.logits_stride * sizeof(T) % 16 == 0);
  auto* kernel = aligned ? grammar_masked_argmax_kernel<T, true> : grammar_masked_argmax_kernel<T, false>;
  // A block that waits keeps its place: with no more of them than multiprocessors, the others always find one.
  while (rows > 0) {
    const int now = rows < device.multiprocessors ? rows : device.multiprocessors;
    const cudaError_t status =
        velospec::launch(kernel, dim3(blocks, now), kThreads, 1, device.hopper, stream, args);
    if (status != cudaSuccess) return status;
    args.logits = static_cast<const T*>(args.logits) + now * args.logits_stride;
    if (args.mask != nullptr) args.mask += now * args.mask_stride;
    args.words += static_cast<int64_t>(now) * blocks * kWarps;
    args.ids += now, args.top1 += now, args.top2 += now, args.counts += now;
    rows -= now;
  }
  return cudaSuccess;
}

}  // namespace

// Bytes of device memory that a launch needs, zeroed once when allocated; each launch leaves it ready for the
// next. One workspace serves one stream at a time.
VELOSPEC_EXPORT int64_t velospec_grammar_masked_argmax_workspace(int rows, int vocabulary) {
  return rows * blocks_for(vocabulary, 16 / sizeof(float)) * kWarps * static_cast<int64_t>(sizeof(Found));
}

// `dtype`: 0 float32, 1 float16, 2 bfloat16. Device pointers; logits_stride in elements, mask_stride in words.
// Allocates nothing and waits for nothing. Returns a cudaError_t.
VELOSPEC_EXPORT int velospec_grammar_masked_argmax(int device, cudaStream_t stream, int dtype,
                                                   const void* logits, int64_t logits_stride,
                                                   const void* mask, int64_t mask_stride, int rows,
                                                   int vocabulary, void* workspace, int* ids, float* top1,
                                                   float* top2, int* counts) {
  const velospec::OnDevice here(device);
  if (here.status() != cudaSuccess) return here.status();
  const velospec::Device properties(device);
  if (properties.status != cudaSuccess) return properties.status;
  const Arguments args{logits,     logits_stride,
                       static_cast<const unsigned*>(mask), mask_stride,
                       vocabulary, static_cast<Found*>(workspace),
                       ids,        top1,
                       top2,       counts};
  if (dtype == 0) return launch<float>(args, rows, properties, stream);
  if (dtype == 1) return launch<__half>(args, rows, properties, stream);
  if (dtype == 2) return launch<__nv_bfloat16>(args, rows, properties, stream);
  return cudaErrorInvalidValue;
}
