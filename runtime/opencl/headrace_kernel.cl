/* What kernels are written in, as OpenCL C 1.2 has it. */
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

#define HR_KERNEL __kernel
#define HR_GLOBAL __global
#define HR_GIVEN __constant
#define HR_TABLE __constant
#define HR_LOCAL __local
#define HR_RESTRICT restrict
#ifdef HR_ITERATIONS_EACH
/* Processors: a work item is a group by itself and runs so many iterations in a loop, of which compilers put several into a
   vector. What all work items read is near by itself. */
#define HR_EACH
#define HR_TOGETHER
#define HR_NEAR(type, name, n, from) HR_TABLE const type *const name = from
#define HR_BRING(name, n, from)
#define HR_FIRST ((uint32_t)get_global_id(0) * HR_ITERATIONS_EACH)
#define HR_END(n) ((n) - HR_FIRST < HR_ITERATIONS_EACH ? (n) : HR_FIRST + HR_ITERATIONS_EACH)
#define HR_ITERATIONS(n) for (uint32_t number_ = HR_FIRST, end_ = HR_END(n); number_ < end_; number_++)
#define HR_ITERATIONS_IN_VECTORS(n) _Pragma("clang loop vectorize(enable)") HR_ITERATIONS(n)
#define HR_NUMBER number_
#else
/* A statement that each work item of a group runs; all come to the end of it before one goes on. */
#define HR_EACH
#define HR_TOGETHER barrier(CLK_LOCAL_MEM_FENCE)
/* The number of a work item in its group, how many there are, and its number among all. */
#define HR_ITEM ((uint32_t)get_local_id(0))
#define HR_ITEMS ((uint32_t)get_local_size(0))
#define HR_NUMBER ((uint32_t)get_global_id(0))
/* A table that a group brings near before the first look-up. */
#define HR_NEAR(type, name, n, from) HR_LOCAL type name[n]
#define HR_BRING(name, n, from) for (uint32_t i_ = HR_ITEM; i_ < n; i_ += HR_ITEMS) name[i_] = from[i_]
/* The iteration of a work item. */
#define HR_ITERATIONS(n) if (HR_NUMBER < n)
#define HR_ITERATIONS_IN_VECTORS(n) HR_ITERATIONS(n)
#endif

#define hr_mul_high(a, b) mul_hi((uint64_t)(a), (uint64_t)(b))
