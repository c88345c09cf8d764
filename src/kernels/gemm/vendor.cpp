#include "kernels/gemm/vendor.hpp"

#include <limits>

#include "utils/error.hpp"

#if defined(LEXIKOS_HAVE_CUBLAS)
#include <cublas_v2.h>
#else
#define HIPBLAS_V2  // types of HIP itself; all that hipBLAS 3 has
#include <hipblas/hipblas.h>
#endif

namespace lexikos::vendor {

namespace {

// The two libraries have the same calls under other names.
#if defined(LEXIKOS_HAVE_CUBLAS)
using Handle = cublasHandle_t;
using Operation = cublasOperation_t;
constexpr auto success = CUBLAS_STATUS_SUCCESS;
constexpr Operation plain = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
const auto create = [](Handle* handle) { return cublasCreate(handle); };
const auto use_stream = [](Handle handle, const ExecSpace& space) {
  return cublasSetStream(handle, space.cuda_stream());
};
constexpr cudaDataType_t type_bf16 = CUDA_R_16BF, type_fp32 = CUDA_R_32F;
constexpr auto sum_in_fp32 = CUBLAS_COMPUTE_32F;
constexpr auto any_algorithm = CUBLAS_GEMM_DEFAULT;
#define LEXIKOS_GEMM_STRIDED(precision) cublas##precision##gemmStridedBatched
#define LEXIKOS_GEMM_MIXED cublasGemmStridedBatchedEx
#else
using Handle = hipblasHandle_t;
using Operation = hipblasOperation_t;
constexpr auto success = HIPBLAS_STATUS_SUCCESS;
constexpr Operation plain = HIPBLAS_OP_N, transposed = HIPBLAS_OP_T;
const auto create = [](Handle* handle) { return hipblasCreate(handle); };
const auto use_stream = [](Handle handle, const ExecSpace& space) {
  return hipblasSetStream(handle, space.hip_stream());
};
constexpr hipDataType type_bf16 = HIP_R_16BF, type_fp32 = HIP_R_32F;
constexpr auto sum_in_fp32 = HIPBLAS_COMPUTE_32F;
constexpr auto any_algorithm = HIPBLAS_GEMM_DEFAULT;
#define LEXIKOS_GEMM_STRIDED(precision) hipblas##precision##gemmStridedBatched
#define LEXIKOS_GEMM_MIXED hipblasGemmStridedBatchedEx
#endif

template <class Code>
void check(Code code, const char* what) {
  if (code == success) return;
  fail(Status::resource, std::string("gemm: the GPU's BLAS could not ") + what + " (status " +
                             std::to_string(static_cast<int>(code)) +
                             "); is the device's memory full?");
}

/// One handle a process: one device a process.
Handle handle() {
  static Handle made = [] {
    Handle h = nullptr;
    check(create(&h), "start");
    return h;
  }();
  return made;
}

int narrow(Index x) {
  if (x > std::numeric_limits<int>::max()) {
    fail(Status::resource,
         "gemm: an extent of " + std::to_string(x) +
             " is more than the GPU's BLAS takes; a smaller batch.micro_batch helps");
  }
  return static_cast<int>(x);
}

Operation operation(Op op) { return op == Op::none ? plain : transposed; }

template <class A>
struct Matrices {
  Operation op_a, op_b;
  int m, n, k;
  const A* a;
  int lda;
  Index stride_a;
  const A* b;
  int ldb;
  Index stride_b;
  int ldc;
  Index stride_c;
  int count;
};

auto multiply(Handle h, const Matrices<float>& x, const float* alpha, const float* beta, float* c) {
  return LEXIKOS_GEMM_STRIDED(S)(h, x.op_a, x.op_b, x.m, x.n, x.k, alpha, x.a, x.lda, x.stride_a,
                                 x.b, x.ldb, x.stride_b, beta, c, x.ldc, x.stride_c, x.count);
}
auto multiply(Handle h, const Matrices<double>& x, const double* alpha, const double* beta,
              double* c) {
  return LEXIKOS_GEMM_STRIDED(D)(h, x.op_a, x.op_b, x.m, x.n, x.k, alpha, x.a, x.lda, x.stride_a,
                                 x.b, x.ldb, x.stride_b, beta, c, x.ldc, x.stride_c, x.count);
}
#undef LEXIKOS_GEMM_STRIDED

template <class C>
auto multiply(Handle h, const Matrices<Bf16>& x, const float* alpha, const float* beta, C* c) {
  return LEXIKOS_GEMM_MIXED(h, x.op_a, x.op_b, x.m, x.n, x.k, alpha, x.a, type_bf16, x.lda,
                            x.stride_a, x.b, type_bf16, x.ldb, x.stride_b, beta, c,
                            std::is_same_v<C, Bf16> ? type_bf16 : type_fp32, x.ldc, x.stride_c,
                            x.count, sum_in_fp32, any_algorithm);
}
#undef LEXIKOS_GEMM_MIXED

}  // namespace

bool available() { return true; }

std::string name() {
#if defined(LEXIKOS_HAVE_CUBLAS)
  int version = 0;
  check(cublasGetVersion(handle(), &version), "say its version");
  return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
#else
  return "hipBLAS";
#endif
}

template <class A, class C>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index m, Index n, Index k, Index count,
                  Wide<A> alpha, MatrixBatch<const A> a, MatrixBatch<const A> b, Wide<A> beta,
                  MatrixBatch<C> c) {
  check(use_stream(handle(), space), "take a stream");
  // Column by column, as these libraries read, a row-major matrix is its transpose:
  // C^T = op(B)^T op(A)^T.
  const Matrices<A> x{operation(op_b), operation(op_a), narrow(n), narrow(m),    narrow(k),
                      b.data,          narrow(b.cols),  b.stride,  a.data,       narrow(a.cols),
                      a.stride,        narrow(c.cols),  c.stride,  narrow(count)};
  check(multiply(handle(), x, &alpha, &beta, c.data), "multiply");
}

#define LEXIKOS_VENDOR_GEMM(A, C)                                                                 \
  template void gemm_batched<A, C>(const ExecSpace&, Op, Op, Index, Index, Index, Index, Wide<A>, \
                                   MatrixBatch<const A>, MatrixBatch<const A>, Wide<A>,           \
                                   MatrixBatch<C>);
LEXIKOS_VENDOR_GEMM(float, float)
LEXIKOS_VENDOR_GEMM(double, double)
LEXIKOS_VENDOR_GEMM(Bf16, Bf16)
LEXIKOS_VENDOR_GEMM(Bf16, float)
#undef LEXIKOS_VENDOR_GEMM

}  // namespace lexikos::vendor
