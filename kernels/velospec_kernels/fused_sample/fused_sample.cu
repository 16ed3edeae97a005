// One token drawn from each row of logits: mask, temperature, top-k, top-p and min-p in this order, then the draw.
//
// A cluster of blocks has one row, whose weights exp((logit - best) / temperature) stay in the blocks' shared
// memory: the row is read once. Where there are no clusters, or a row is longer, the weights are made
// anew from the logits whenever they are looked at. Nothing is sorted: a filter is a weight (`Filter`), found by
// bisection between weights that occur, and of equal ones the lowest ids stay.
#include "velospec_launch.cuh"
#include "velospec_sample_row.cuh"

namespace {

using velospec::Filter;
using velospec::Stats;

struct Arguments {
  const void* logits;
  int64_t logits_stride;  // elements
  const unsigned* mask;   // nullptr allows every id
  int64_t mask_stride;    // words
  int vocabulary;
  const float* settings;  // [rows, 4]: temperature, top_k, top_p, min_p
  const uint64_t* keys;   // [rows, 2]: seed, position
  int* ids;
  float* probabilities;
  int* kept;
};

__device__ __forceinline__ uint64_t mix(uint64_t word) {
  word += 0x9E3779B97F4A7C15u;
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
  word = (word ^ word >> 27) * 0x94D049BB133111EBu;
  return word ^ word >> 31;
}

// A number from 0 up to but not 1: SplitMix64 as a counter, so that a position has one number in any order of calls.
__device__ __forceinline__ double uniform(uint64_t seed, uint64_t position) {
  return static_cast<double>(mix(mix(seed) + position * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

// The filter of top-k or top-p: it keeps the largest weights, the fewest whose number or sum reaches `goal`.
template <typename Row>
__device__ __forceinline__ Filter keep_largest(Row& row, const Stats& all, bool by_count, double goal) {
  // The weight that reaches the goal is one of those from `low` to `high`; `above` is all that is larger than `high`.
  unsigned low = all.least, high = velospec::kOne;
  Stats above = velospec::nothing(), from = all;
  while (low < high) {
    const Stats stats = row.measure(low + (high - low + 1) / 2);
    if ((by_count ? stats.count : stats.mass) >= goal) {
      low = stats.least;
      from = stats;
    } else {
      high = stats.below;
      above = stats;
    }
  }
  const double equals = from.count - above.count;  // ids of just that weight
  const double wanted = by_count ? goal - above.count : ceil((goal - above.mass) / __uint_as_float(low));
  const double few = wanted < 1 ? 1 : wanted;
  if (few >= equals) return Filter{low, INT_MAX};
  const velospec::EqualTo equal{low};
  row.measure(velospec::kAny, equal);
  return Filter{low, row.locate(few - 0.5, equal).id};
}

enum { kTopK, kTopP, kMinP, kFilters };

// Whether a filter drops anything, given all that is left before it. NaN turns a filter off.
__device__ __forceinline__ bool drops(int filter, const float* limits, const Stats& all) {
  if (filter == kTopK) return limits[kTopK] >= 1 && limits[kTopK] < all.count;
  return all.count > 1 && (filter == kTopP ? limits[kTopP] < 1 : limits[kMinP] > 0);
}

template <typename Row>
__device__ __forceinline__ void draw(Row& row, const Arguments& args, int64_t index) {
  const float* settings = args.settings + index * 4;
  const bool greedy = !(settings[0] > 0);
  const float limits[kFilters] = {settings[1], settings[2], settings[3]};
  row.weigh(greedy ? INFINITY : 1 / settings[0]);
  Stats all = row.measure(velospec::kAny);
  for (int filter = kTopK; filter < kFilters && !greedy; ++filter) {
    if (!drops(filter, limits, all)) continue;
    Filter kept{__float_as_uint(fminf(limits[kMinP], 1)), INT_MAX};
    if (filter != kMinP) {
      const double goal = filter == kTopK ? floorf(limits[kTopK]) : static_cast<double>(limits[kTopP]) * all.mass;
      kept = keep_largest(row, all, filter == kTopK, goal);
    }
    // One that drops nothing must not bring back what the filter before it dropped.
    if (kept.weight > all.least || kept.last != INT_MAX) row.narrow(kept);
    all = row.measure(velospec::kAny);
  }
  const uint64_t* key = args.keys + index * 2;
  const velospec::Place place = row.locate(greedy ? 0 : uniform(key[0], key[1]) * all.mass);
  if (row.is_first_thread()) {
    const bool none = all.count == 0;
    args.ids[index] = none ? -1 : place.id;
    args.probabilities[index] = none ? 0 : __uint_as_float(place.weight) / all.mass;
    args.kept[index] = static_cast<int>(all.count);
  }
}

template <typename T, bool kResident>
__global__ void __launch_bounds__(velospec::kSampleThreads, 1) fused_sample_kernel(const Arguments args) {
  velospec::wait_for_kernel_before();
  velospec::let_next_kernel_start();
  __shared__ velospec::SampleShared shared;
  const auto logits = velospec::row_of<T, false>(args.logits, args.logits_stride, args.mask, args.mask_stride,
                                                 args.vocabulary, blockIdx.y);
  velospec::SampleRow<T, kResident> row(logits, shared);
  draw(row, args, blockIdx.y);
}

template <typename T>
cudaError_t launch(const Arguments& args, int rows, const velospec::Device& device, cudaStream_t stream) {
  const int blocks = device.hopper ? 8 : 1;  // of a cluster: the most that every device with clusters has
  const int bytes = velospec::bytes_of_weights(velospec::chunks_per_warp(args.vocabulary, blocks));
  const dim3 grid(blocks, rows);
  // Some of a block's shared memory is spoken for by its own variables.
  if (bytes > device.most_shared_bytes - static_cast<int>(sizeof(velospec::SampleShared))) {
    return velospec::launch(fused_sample_kernel<T, false>, grid, velospec::kSampleThreads, blocks, device.hopper,
                            stream, args);
  }
  const cudaError_t status = cudaFuncSetAttribute(fused_sample_kernel<T, true>,
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (status != cudaSuccess) return status;
  return velospec::launch(fused_sample_kernel<T, true>, grid, velospec::kSampleThreads, blocks, device.hopper, stream,
                          args, bytes);
}

}  // namespace

// `dtype`: 0 float32, 1 float16, 2 bfloat16. Device pointers; logits_stride in elements, mask_stride in words.
// At most 65,535 rows. Allocates nothing and waits for nothing. Returns a cudaError_t.
VELOSPEC_EXPORT int velospec_fused_sample(int device, cudaStream_t stream, int dtype, const void* logits,
                                          int64_t logits_stride, const void* mask, int64_t mask_stride, int rows,
                                          int vocabulary, const float* settings, const void* keys, int* ids,
                                          float* probabilities, int* kept) {
  if (rows == 0) return cudaSuccess;
  const velospec::OnDevice here(device);
  if (here.status() != cudaSuccess) return here.status();
  const velospec::Device properties(device);
  if (properties.status != cudaSuccess) return properties.status;
  const Arguments args{logits,     logits_stride, static_cast<const unsigned*>(mask),  mask_stride,
                       vocabulary, settings,      static_cast<const uint64_t*>(keys), ids,
                       probabilities, kept};
  if (dtype == 0) return launch<float>(args, rows, properties, stream);
  if (dtype == 1) return launch<__half>(args, rows, properties, stream);
  if (dtype == 2) return launch<__nv_bfloat16>(args, rows, properties, stream);
  return cudaErrorInvalidValue;
}
