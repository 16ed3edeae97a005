// What every launcher shares: an exported C symbol, the caller's device, and errors as text.
#pragma once
#include <cuda_runtime.h>

#define VELOSPEC_EXPORT extern "C" __attribute__((visibility("default")))

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

}  // namespace velospec

VELOSPEC_EXPORT const char* velospec_error_string(int status) {
  return cudaGetErrorString(static_cast<cudaError_t>(status));
}
