// What every launcher shares: an exported C symbol, the caller's device, the launch itself, and errors as text.
#pragma once
#include <cuda_runtime.h>

#define VELOSPEC_EXPORT extern "C" __attribute__((visibility("default")))

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "warp reductions in hardware need compute capability 8.0 or later"
#endif

namespace velospec {

// Makes `device` current for a launch and puts the former one back.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    status_ = cudaGetDevice(&former_);
    if (status_ == cudaSuccess && former_ != device) {
      status_ = cudaSetDevice(device);
      changed_ = status_ == cudaSuccess;
    }
  }
  ~OnDevice() {
    if (changed_) cudaSetDevice(former_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  cudaError_t status() const { return status_; }

 private:
  int former_ = 0;
  bool changed_ = false;
  cudaError_t status_;
};

// What a device has; `hopper` says that it has what came with compute capability 9.0: a launch that overlaps the
// end of the kernel before it, and clusters of blocks.
struct Device {
  int multiprocessors = 0;
  int most_shared_bytes = 0;  // of a block
  bool hopper = false;
  cudaError_t status = cudaSuccess;

  explicit Device(int device) {
    int major = 0;
    read(multiprocessors, cudaDevAttrMultiProcessorCount, device);
    read(most_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    read(major, cudaDevAttrComputeCapabilityMajor, device);
    hopper = major >= 9;
  }

 private:
  void read(int& value, cudaDeviceAttr attribute, int device) {
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&value, attribute, device);
  }
};

// Launches `kernel`, in clusters of `cluster` blocks along x if that is more than one. On `hopper` its blocks may
// take their places while the kernel before it ends: it must call `wait_for_kernel_before` first.
template <typename Arguments>
cudaError_t launch(void (*kernel)(Arguments), dim3 grid, int threads, int cluster, bool hopper, cudaStream_t stream,
                   const Arguments& arguments, int dynamic_shared_bytes = 0) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = dynamic_shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attributes[2]{};
  config.attrs = attributes;
  if (hopper) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& size = attributes[config.numAttrs++];
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  return cudaLaunchKernelEx(&config, kernel, arguments);
}

// Returns when all that ran before on this stream is done and visible. No memory is touched before this, and none
// with ld.global.nc (__ldg), which wants memory that stays unwritten from the start of the kernel on.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel's blocks may take their places; they wait for the end of this one before they read.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace velospec

VELOSPEC_EXPORT const char* velospec_error_string(int status) {
  return cudaGetErrorString(static_cast<cudaError_t>(status));
}
