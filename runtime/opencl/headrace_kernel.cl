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
/* A statement that each work item of a group runs; all come to the end of it before one goes on. */
#define HR_EACH
#define HR_TOGETHER barrier(CLK_LOCAL_MEM_FENCE)
/* The number of a work item in its group, how many there are, and its number among all. */
#define HR_ITEM ((uint32_t)get_local_id(0))
#define HR_ITEMS ((uint32_t)get_local_size(0))
#define HR_NUMBER ((uint32_t)get_global_id(0))

#define hr_mul_high(a, b) mul_hi((uint64_t)(a), (uint64_t)(b))
