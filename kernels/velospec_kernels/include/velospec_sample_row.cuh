// A row of weights that a cluster of blocks holds together: made from the logits, measured, and searched by sums.
//
// Weights are float bit patterns, which for numbers from 0 on have the order of the numbers. Block b of the cluster
// has the b-th run of chunks, warp w of a block the w-th part of those; within a chunk ids ascend by unit, then by lane.
// So sums over warps, blocks, units and lanes in this order are sums in the order of the ids.
#pragma once
#include <cooperative_groups.h>

#include "velospec_logits.cuh"
#include "velospec_sums.cuh"

namespace velospec {

template <typename T, bool kResident>
class SampleRow {
  using Row = LogitRow<T, false>;
  static constexpr int kIds = Row::kIds;  // of a unit
  static constexpr int kUnits = kIdsPerLane / kIds;
  static constexpr int kQuads = kIds / 4;  // 16-byte words of a unit's weights
  using Chunk = velospec::Chunk<T, false, kUnits>;

 public:
  __device__ __forceinline__ SampleRow(const Row& row, SampleShared& shared) : row_(row), shared_(shared) {
    chunks_ = chunks_per_warp(row.vocabulary, blocks());
    first_chunk_ = (rank() * kSampleWarps + static_cast<int>(threadIdx.x) / 32) * chunks_;
  }

  // Makes the weights exp((logit - best) * scale): 1 for the best, 0 for what is forbidden, NaN or far below.
  __device__ __forceinline__ void weigh(float scale) {
    scale_ = scale * 1.442695041f;  // log2(e)
    Stats stats = nothing();
#pragma unroll 1
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      const Chunk loaded(row_, first_chunk_ + chunk);
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        unsigned values[kIds];
#pragma unroll
        for (int i = 0; i < kIds; ++i) {
          const float value = value_at(loaded, u, i);
          values[i] = __float_as_uint(value);
          if (!isnan(value)) stats.below = max(stats.below, key_of(value));
        }
        if constexpr (kResident) keep(chunk, u, values);
      }
    }
    stats = combine(stats);
    best_ = __uint_as_float(stats.below & 0x80000000u ? stats.below & 0x7fffffffu : ~stats.below);
    if constexpr (kResident) {
      rewrite([&](unsigned value, int) { return weight_of(__uint_as_float(value)); });
    }
  }

  // Drops what `filter` drops, which is no less than what was dropped before.
  __device__ __forceinline__ void narrow(const Filter& filter) {
    filter_ = filter;
    if constexpr (kResident) rewrite([&](unsigned weight, int id) { return filter.of(weight, id); });
  }

  // Sums over what `value` makes of the weights, from `pivot` on, which is above 0. All threads of the cluster call
  // this, and get the same.
  template <typename Value = AsIs>
  __device__ __forceinline__ Stats measure(unsigned pivot, Value value = {}) {
    Stats stats = nothing();
    each_unit([&](int, const unsigned* weights, bool&) {
#pragma unroll
      for (int i = 0; i < kIds; ++i) {
        const unsigned weight = value(weights[i]);
        if (weight >= pivot) {
          stats.mass += __uint_as_float(weight);
          stats.count += 1;
          stats.least = min(stats.least, weight);
        } else {
          stats.below = max(stats.below, weight);
        }
      }
    });
    return combine(stats);
  }

  // The first id up to which the values sum to more than `target`; `measure(kAny, value)` came just before. All
  // threads of the cluster call this, and get the same.
  template <typename Value = AsIs>
  __device__ __forceinline__ Place locate(double target, Value value = {}) {
    const int lane = threadIdx.x % 32;
    const int block = part_with(lane < blocks() ? of_rank(shared_.of_block[parity_], lane).mass : 0, target);
    if (block == rank()) {
      const int warp = part_with(lane < kSampleWarps ? shared_.of_warp[parity_][lane].mass : 0, target);
      if (warp == static_cast<int>(threadIdx.x) / 32) search_chunks(target, value);
    }
    synchronize();
    const Place place = block < 0 ? Place{-1, 0} : of_rank(shared_.place, block);
    synchronize();  // no block may leave, or write there, while another reads
    return place;
  }

  __device__ __forceinline__ bool is_first_thread() const { return rank() == 0 && threadIdx.x == 0; }

 private:
  __device__ __forceinline__ static int rank() { return static_cast<int>(blockIdx.x); }
  __device__ __forceinline__ static int blocks() { return static_cast<int>(gridDim.x); }

  __device__ __forceinline__ static unsigned key_of(float value) {
    const unsigned bits = __float_as_uint(value + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  }

  __device__ __forceinline__ static float value_at(const Chunk& chunk, int u, int i) {
    using R = Register<T>;
    return R::at(chunk.registers[u][i / R::kIds], i % R::kIds);
  }

  __device__ __forceinline__ unsigned weight_of(float value) const {
    if (value == best_) return kOne;  // an infinite best too
    float weight;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(weight) : "f"((value - best_) * scale_));  // 0 below 2^-126
    return weight >= 0 ? __float_as_uint(weight) : 0;  // NaN is not
  }

  __device__ __forceinline__ int first_id(int chunk, int u) const {
    return (((first_chunk_ + chunk) * kUnits + u) * 32 + static_cast<int>(threadIdx.x) % 32) * kIds;
  }

  // Where a thread keeps the weights of a unit: threads side by side, so that no two meet in a bank.
  __device__ __forceinline__ static uint4& quad(int chunk, int u, int q) {
    extern __shared__ uint4 kept_quads[];
    return kept_quads[((chunk * kUnits + u) * kQuads + q) * kSampleThreads + threadIdx.x];
  }

  __device__ __forceinline__ static void keep(int chunk, int u, const unsigned (&weights)[kIds]) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      quad(chunk, u, q) = make_uint4(weights[4 * q], weights[4 * q + 1], weights[4 * q + 2], weights[4 * q + 3]);
    }
  }

  __device__ __forceinline__ static void recall(int chunk, int u, unsigned (&weights)[kIds]) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const uint4 four = quad(chunk, u, q);
      weights[4 * q] = four.x, weights[4 * q + 1] = four.y, weights[4 * q + 2] = four.z, weights[4 * q + 3] = four.w;
    }
  }

  // Puts `change(weight, id)` in the place of each weight kept.
  template <typename Change>
  __device__ __forceinline__ void rewrite(Change change) {
#pragma unroll 1
    for (int chunk = 0; chunk < chunks_; ++chunk) {
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        unsigned weights[kIds];
        recall(chunk, u, weights);
#pragma unroll
        for (int i = 0; i < kIds; ++i) weights[i] = change(weights[i], first_id(chunk, u) + i);
        keep(chunk, u, weights);
      }
    }
  }

  // Calls `look(first id, weights, done)` for each unit of this thread, in the order of its ids, until it sets `done`.
  template <typename Look>
  __device__ __forceinline__ void each_unit(Look look) {
    bool done = false;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks_ && !done; ++chunk) {
      if constexpr (kResident) {
#pragma unroll
        for (int u = 0; u < kUnits && !done; ++u) {
          unsigned weights[kIds];
          recall(chunk, u, weights);
          look(first_id(chunk, u), weights, done);
        }
      } else {
        const Chunk loaded(row_, first_chunk_ + chunk);
#pragma unroll
        for (int u = 0; u < kUnits && !done; ++u) {
          unsigned weights[kIds];
#pragma unroll
          for (int i = 0; i < kIds; ++i) {
            weights[i] = filter_.of(weight_of(value_at(loaded, u, i)), first_id(chunk, u) + i);
          }
          look(first_id(chunk, u), weights, done);
        }
      }
    }
  }

  // One warp finds the place in its chunks and leaves it in the block's memory.
  template <typename Value>
  __device__ __forceinline__ void search_chunks(double target, Value value) {
    bool exceeded = false;
    // Where rounding leaves no unit at which the sum exceeds, the second attempt takes the last that adds anything.
    for (int attempt = 0; attempt < 2 && !exceeded; ++attempt) {
      double rest = target;
      each_unit([&](int first, const unsigned* weights, bool& done) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < kIds; ++i) sum += __uint_as_float(value(weights[i]));
        const float unit_sum = sum_of_warp(sum);
        exceeded = done = rest < unit_sum;
        if (unit_sum > 0 && (done || attempt == 1)) place_in_unit(first, weights, sum, rest, value);
        rest -= unit_sum;
      });
    }
  }

  // The place in one unit of each lane, whose values sum to `sum` in this lane.
  template <typename Value>
  __device__ __forceinline__ void place_in_unit(int first, const unsigned* weights, float sum, double target,
                                                Value value) {
    const int owner = part_with(sum, target);
    if (static_cast<int>(threadIdx.x) % 32 == owner) {
      double running = 0;
      bool found = false;
#pragma unroll
      for (int i = 0; i < kIds; ++i) {
        const unsigned weight = value(weights[i]);
        running += __uint_as_float(weight);
        if (weight != 0 && !found) {
          shared_.place = Place{first + i, weight};  // the last that adds anything, if none exceeds
          found = running > target;
        }
      }
    }
    __syncwarp();
  }

  // The statistics of the whole cluster from those of each thread, the same for all threads and in a fixed order.
  __device__ __forceinline__ Stats combine(Stats stats) {
    parity_ ^= 1;
    stats = stats_of_warp(stats);
    if (threadIdx.x % 32 == 0) shared_.of_warp[parity_][threadIdx.x / 32] = stats;
    __syncthreads();
    const int lane = threadIdx.x % 32;
    stats = stats_of_warp(lane < kSampleWarps ? shared_.of_warp[parity_][lane] : nothing());
    if (threadIdx.x == 0) shared_.of_block[parity_] = stats;
    synchronize();
    return stats_of_warp(lane < blocks() ? of_rank(shared_.of_block[parity_], lane) : nothing());
  }

  // `mine` as block `rank` of the cluster has it.
  template <typename Value>
  __device__ __forceinline__ static Value of_rank(Value& mine, int rank) {
#if __CUDA_ARCH__ >= 900
    return *cooperative_groups::this_cluster().map_shared_rank(&mine, rank);
#else
    return mine;  // a block alone
#endif
  }

  __device__ __forceinline__ static void synchronize() {
#if __CUDA_ARCH__ >= 900
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
  }

  const Row& row_;
  SampleShared& shared_;
  int first_chunk_;
  int chunks_;
  Filter filter_;
  float best_ = 0;
  float scale_ = 0;
  int parity_ = 0;
};

}  // namespace velospec
