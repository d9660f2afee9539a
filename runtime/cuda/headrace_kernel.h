/*
 * What kernels are written in, as CUDA has it. Without nvcc a kernel is a function of C++ that runs the work items of a group
 * one after the other, part by part, so that any machine computes the same values with the same kernels.
 */
#ifndef HEADRACE_CUDA_KERNEL_H
#define HEADRACE_CUDA_KERNEL_H

#include <stdint.h>

#define HR_GLOBAL
#define HR_GIVEN
#define HR_RESTRICT __restrict__
#define HR_GROUP 64u

#ifdef __CUDACC__

#include <cuda_runtime.h>

#define HR_KERNEL static __global__
#define HR_TABLE static __device__ __constant__ const
#define HR_LOCAL __shared__
#define HR_EACH
#define HR_TOGETHER __syncthreads()
#define HR_LAUNCH(kernel, launch, ...) \
  kernel<<<(launch->n + HR_GROUP - 1u) / HR_GROUP, HR_GROUP, 0, (cudaStream_t)launch->stream>>>(__VA_ARGS__)
#define hr_mul_high(a, b) __umul64hi(a, b)
/* Functions of one number are for both sides. */
#define inline __host__ __device__ inline

#else

struct hr_number {
  uint32_t x;
};

/* A device serves one thread, and each thread may have its own. */
static thread_local struct hr_number threadIdx, blockIdx;
static const struct hr_number blockDim = {HR_GROUP};

#define HR_KERNEL static
#define HR_TABLE static const
#define HR_LOCAL
#define HR_EACH for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
#define HR_TOGETHER ((void)0)
#define HR_LAUNCH(kernel, launch, ...) \
  for (blockIdx.x = 0; blockIdx.x < (launch->n + HR_GROUP - 1u) / HR_GROUP; blockIdx.x++) kernel(__VA_ARGS__)

static inline uint64_t hr_mul_high(uint64_t a, uint64_t b)
{
  const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
  const uint64_t middle = a_high * b_low + (a_low * b_low >> 32), other = a_low * b_high + (uint32_t)middle;
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

#endif

#define HR_ITEM threadIdx.x
#define HR_ITEMS blockDim.x
#define HR_NUMBER (blockIdx.x * blockDim.x + threadIdx.x)
/* A table that a group brings near before the first look-up. */
#define HR_NEAR(type, name, n, from) HR_LOCAL type name[n]
#define HR_BRING(name, n, from) for (uint32_t i_ = HR_ITEM; i_ < n; i_ += HR_ITEMS) name[i_] = from[i_]
/* The iteration of a work item. */
#define HR_ITERATIONS(n) HR_EACH if (HR_NUMBER < n)
#define HR_ITERATIONS_IN_VECTORS(n) HR_ITERATIONS(n)

#endif
