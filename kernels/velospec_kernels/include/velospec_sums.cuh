// Sums over the weights of a row, as threads, warps and blocks hand them on, and the filters of a draw.
#pragma once
#include <climits>
#include <cstdint>

#include "velospec_logits.cuh"

namespace velospec {

constexpr int kSampleThreads = 512;
constexpr int kSampleWarps = kSampleThreads / 32;
constexpr int kIdsPerLane = 32;                // of a chunk
constexpr int kIdsPerChunk = 32 * kIdsPerLane;  // of a warp

// How many chunks each warp has where `blocks` blocks share a row.
__host__ __device__ constexpr int chunks_per_warp(int vocabulary, int blocks) {
  const int chunks = (vocabulary + kIdsPerChunk - 1) / kIdsPerChunk;
  return (chunks + blocks * kSampleWarps - 1) / (blocks * kSampleWarps);
}

// The dynamic shared memory of a block that keeps its weights.
constexpr int bytes_of_weights(int chunks_per_warp) {
  return chunks_per_warp * kSampleThreads * kIdsPerLane * static_cast<int>(sizeof(unsigned));
}

// Sums over the weights from a pivot on, the least of these, and the largest of the others.
struct Stats {
  float mass;
  unsigned count;
  unsigned least;
  unsigned below;
};

__device__ __forceinline__ Stats nothing() { return Stats{0, 0, UINT_MAX, 0}; }
constexpr unsigned kOne = 0x3f800000;  // the weight of the best: 1
constexpr unsigned kAny = 1;           // a pivot that every weight but 0 reaches

struct Place {
  int id;
  unsigned weight;
};

// A block's memory. Twice what other threads read, so that the next round does not overwrite it under their eyes.
struct SampleShared {
  Stats of_warp[2][kSampleWarps];
  Stats of_block[2];
  Place place;
};

// Which weights stay: those above `weight`, and of equal ones those up to id `last`.
struct Filter {
  unsigned weight = 0;
  int last = INT_MAX;

  __device__ __forceinline__ unsigned of(unsigned value, int id) const {
    return value > weight || (value == weight && id <= last) ? value : 0;
  }
};

// What is summed: the weights as they are, or 1 for each that equals one.
struct AsIs {
  __device__ __forceinline__ unsigned operator()(unsigned weight) const { return weight; }
};

struct EqualTo {
  unsigned wanted;
  __device__ __forceinline__ unsigned operator()(unsigned weight) const { return weight == wanted ? kOne : 0; }
};

__device__ __forceinline__ float sum_of_warp(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAll, value, step);
  return value;
}

__device__ __forceinline__ Stats stats_of_warp(Stats stats) {
  stats.mass = sum_of_warp(stats.mass);
  stats.count = __reduce_add_sync(kAll, stats.count);
  stats.least = __reduce_min_sync(kAll, stats.least);
  stats.below = __reduce_max_sync(kAll, stats.below);
  return stats;
}

// Of 32 parts in a row, one a lane, the first at which their sum exceeds `target`, or where rounding leaves none the
// last that adds anything; `target` becomes what is left of it there. -1 if all parts are 0.
__device__ __forceinline__ int part_with(float part, double& target) {
  const int lane = threadIdx.x % 32;
  double sum = part;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const double before = __shfl_up_sync(kAll, sum, step);
    if (lane >= step) sum += before;
  }
  const unsigned some = __ballot_sync(kAll, part > 0);
  const unsigned over = __ballot_sync(kAll, part > 0 && sum > target);
  if (some == 0) return -1;
  const int found = over != 0 ? __ffs(over) - 1 : 31 - __clz(some);
  target -= __shfl_sync(kAll, sum - part, found);
  return found;
}

}  // namespace velospec
