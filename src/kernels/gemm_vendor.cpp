#include "kernels/gemm_vendor.hpp"

#include <limits>

#include "utils/error.hpp"

#if defined(LEXIKOS_HAVE_CUBLAS)
#include <cublas_v2.h>
#elif defined(LEXIKOS_HAVE_HIPBLAS)
#include <hipblas/hipblas.h>
#endif

namespace lexikos::vendor {

#if defined(LEXIKOS_HAVE_CUBLAS) || defined(LEXIKOS_HAVE_HIPBLAS)

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
#define LEXIKOS_GEMM_STRIDED(precision) cublas##precision##gemmStridedBatched
#else
using Handle = hipblasHandle_t;
using Operation = hipblasOperation_t;
constexpr auto success = HIPBLAS_STATUS_SUCCESS;
constexpr Operation plain = HIPBLAS_OP_N, transposed = HIPBLAS_OP_T;
const auto create = [](Handle* handle) { return hipblasCreate(handle); };
const auto use_stream = [](Handle handle, const ExecSpace& space) {
  return hipblasSetStream(handle, space.hip_stream());
};
#define LEXIKOS_GEMM_STRIDED(precision) hipblas##precision##gemmStridedBatched
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
    fail(Status::resource, "gemm: an extent of " + std::to_string(x) +
                               " is more than the GPU's BLAS takes; a smaller batch.micro helps");
  }
  return static_cast<int>(x);
}

Operation operation(Op op) { return op == Op::none ? plain : transposed; }

auto strided(Handle h, Operation a, Operation b, int m, int n, int k, const float* alpha,
             const float* pa, int lda, Index sa, const float* pb, int ldb, Index sb,
             const float* beta, float* pc, int ldc, Index sc, int count) {
  return LEXIKOS_GEMM_STRIDED(S)(h, a, b, m, n, k, alpha, pa, lda, sa, pb, ldb, sb, beta, pc, ldc,
                                 sc, count);
}
auto strided(Handle h, Operation a, Operation b, int m, int n, int k, const double* alpha,
             const double* pa, int lda, Index sa, const double* pb, int ldb, Index sb,
             const double* beta, double* pc, int ldc, Index sc, int count) {
  return LEXIKOS_GEMM_STRIDED(D)(h, a, b, m, n, k, alpha, pa, lda, sa, pb, ldb, sb, beta, pc, ldc,
                                 sc, count);
}
#undef LEXIKOS_GEMM_STRIDED

}  // namespace

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

template <class S>
void gemm_batched(const ExecSpace& space, Op op_a, Op op_b, Index m, Index n, Index k, Index count,
                  S alpha, MatrixBatch<const S> a, MatrixBatch<const S> b, S beta,
                  MatrixBatch<S> c) {
  check(use_stream(handle(), space), "take a stream");
  // Column by column, as these libraries read, a row-major matrix is its transpose:
  // C^T = op(B)^T op(A)^T.
  check(strided(handle(), operation(op_b), operation(op_a), narrow(n), narrow(m), narrow(k), &alpha,
                b.data, narrow(b.cols), b.stride, a.data, narrow(a.cols), a.stride, &beta, c.data,
                narrow(c.cols), c.stride, narrow(count)),
        "multiply");
}

#else

std::string name() { return ""; }

template <class S>
void gemm_batched(const ExecSpace&, Op, Op, Index, Index, Index, Index, S, MatrixBatch<const S>,
                  MatrixBatch<const S>, S, MatrixBatch<S>) {
  fail(Status::resource, "gemm: this build has no GPU library; a fault in Lexikos");
}

#endif

#define LEXIKOS_VENDOR_GEMM(S)                                                           \
  template void gemm_batched<S>(const ExecSpace&, Op, Op, Index, Index, Index, Index, S, \
                                MatrixBatch<const S>, MatrixBatch<const S>, S, MatrixBatch<S>);
LEXIKOS_VENDOR_GEMM(float)
LEXIKOS_VENDOR_GEMM(double)
#undef LEXIKOS_VENDOR_GEMM

}  // namespace lexikos::vendor
