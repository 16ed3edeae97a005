// Allowed count and density of each row of a packed mask: one block a row, 16-byte loads, one launch.
#include <cstdint>

#include "velospec_launch.cuh"

namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;

// The bits of word `index` that stand for ids of the vocabulary.
__device__ __forceinline__ unsigned within(unsigned word, int index, int vocabulary) {
  const int left = vocabulary - index * 32;
  return left >= 32 ? word : word & ((1u << left) - 1u);
}

struct Arguments {
  const unsigned* mask;
  int64_t mask_stride;  // words
  int words;
  int vocabulary;
  int* counts;
  float* density;
};

__global__ void __launch_bounds__(kThreads) popcount_density_kernel(const Arguments args) {
  velospec::wait_for_kernel_before();
  velospec::let_next_kernel_start();
  const int words = args.words, vocabulary = args.vocabulary;
  const unsigned* row = args.mask + blockIdx.x * args.mask_stride;
  int count = 0;
  // Rows of any alignment: single words up to the first 16-byte boundary, then four at a time, then the rest.
  const int head = min(words, static_cast<int>((16 - (reinterpret_cast<uintptr_t>(row) & 15)) / 4 & 3));
  const int quads = (words - head) / 4;
  const uint4* body = reinterpret_cast<const uint4*>(row + head);
  for (int quad = threadIdx.x; quad < quads; quad += kThreads) {
    const uint4 bits = body[quad];
    const int index = head + quad * 4;
    // The tail can only lie in the last word, so the other three are whole.
    count += __popc(bits.x) + __popc(bits.y) + __popc(bits.z) + __popc(within(bits.w, index + 3, vocabulary));
  }
  const int rest = head + quads * 4;
  const int single = threadIdx.x < head ? threadIdx.x : rest + threadIdx.x - head;
  if (single < words) count += __popc(within(row[single], single, vocabulary));

  count = __reduce_add_sync(~0u, count);
  __shared__ int warp_counts[kWarps];
  if (threadIdx.x % 32 == 0) warp_counts[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x < 32) {
    count = __reduce_add_sync(~0u, warp_counts[threadIdx.x]);
    if (threadIdx.x == 0) {
      args.counts[blockIdx.x] = count;
      args.density[blockIdx.x] = __fdiv_rn(static_cast<float>(count), static_cast<float>(vocabulary));
    }
  }
}

}  // namespace

// Device pointers; strides in words. Allocates nothing and waits for nothing. Returns a cudaError_t.
VELOSPEC_EXPORT int velospec_popcount_density(int device, cudaStream_t stream, const unsigned* mask,
                                              int64_t mask_stride, int rows, int vocabulary, int* counts,
                                              float* density) {
  if (rows == 0) return cudaSuccess;
  const velospec::OnDevice here(device);
  if (here.status() != cudaSuccess) return here.status();
  const velospec::Device properties(device);
  if (properties.status != cudaSuccess) return properties.status;
  const int words = vocabulary / 32 + (vocabulary % 32 != 0);
  const Arguments args{mask, mask_stride, words, vocabulary, counts, density};
  return velospec::launch(popcount_density_kernel, dim3(rows), kThreads, 1, properties.hopper, stream, args);
}
