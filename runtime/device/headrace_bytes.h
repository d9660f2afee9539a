/* Several bytes as one number, wherever they lie. */
#define hr_le16(p) ((uint32_t)(p)[0] | (uint32_t)(p)[1] << 8)
#define hr_be16(p) ((uint32_t)(p)[0] << 8 | (uint32_t)(p)[1])
#define hr_le32(p) (hr_le16(p) | (uint32_t)(p)[2] << 16 | (uint32_t)(p)[3] << 24)
#define hr_be32(p) (hr_be16(p) << 16 | (uint32_t)(p)[2] << 8 | (uint32_t)(p)[3])
#define hr_le64(p) ((uint64_t)hr_le32(p) | (uint64_t)hr_le32((p) + 4) << 32)
#define hr_be64(p) ((uint64_t)hr_be32(p) << 32 | (uint64_t)hr_be32((p) + 4))

static inline uint32_t hr_swap16(uint32_t v)
{
  return (v >> 8 & 255u) | (v & 255u) << 8;
}

static inline uint32_t hr_swap32(uint32_t v)
{
  return v >> 24 | (v >> 8 & 0xff00u) | (v & 0xff00u) << 8 | v << 24;
}

static inline uint64_t hr_swap64(uint64_t v)
{
  return (uint64_t)hr_swap32((uint32_t)v) << 32 | hr_swap32((uint32_t)(v >> 32));
}

