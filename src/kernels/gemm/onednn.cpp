#include "kernels/gemm/onednn.hpp"

#include <cstddef>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <vector>

#include "utils/error.hpp"

namespace lexikos::onednn {
namespace {

using Type = dnnl::memory::data_type;

/// Everything that a compiled product depends on.
using Shape = std::tuple<Op, Op, Index, Index, Index, float, float, Type>;

dnnl::engine& engine() {
  static dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}

/// A row-major matrix, or the transpose of one: rows x cols as the product sees it.
dnnl::memory::desc matrix(Type type, Op op, Index rows, Index cols) {
  using Dims = dnnl::memory::dims;
  return {Dims{rows, cols}, type, op == Op::none ? Dims{cols, 1} : Dims{1, rows}};
}

/// One product, compiled, with its arguments ready for pointers.
struct Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
  std::size_t scratch_bytes;
};

Product compile(const Shape& shape) {
  const auto [op_a, op_b, m, n, k, alpha, beta, c_type] = shape;
  const auto a = matrix(Type::bf16, op_a, m, k), b = matrix(Type::bf16, op_b, k, n);
  const auto c = matrix(c_type, Op::none, m, n);
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  if (alpha != 1.0f) after.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0.0f);
#else
  if (alpha != 1.0f) after.append_eltwise(1.0f, dnnl::algorithm::eltwise_linear, alpha, 0.0f);
#endif
  if (beta != 0.0f) after.append_sum(beta);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  // The library's own scratch memory is one for all threads.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine(), a, b, c, attributes);
#else
  const dnnl::matmul::primitive_desc description({a, b, c}, attributes, engine());
#endif
  const auto scratch = description.scratchpad_desc();
  return {dnnl::matmul(description),
          dnnl::memory(a, engine(), nullptr),
          dnnl::memory(b, engine(), nullptr),
          dnnl::memory(c, engine(), nullptr),
          dnnl::memory(scratch, engine(), nullptr),
          scratch.get_size()};
}

/// What one thread keeps.
struct ThreadStore {
  std::map<Shape, Product> products;
  std::vector<std::max_align_t> scratch;  // of the product at work; grows to the largest
  dnnl::stream stream{engine()};
};

ThreadStore& store() {
  thread_local ThreadStore mine;
  return mine;
}

void run(const Shape& shape, const Bf16* a, const Bf16* b, void* c) {
  ThreadStore& mine = store();
  auto found = mine.products.find(shape);
  if (found == mine.products.end()) found = mine.products.emplace(shape, compile(shape)).first;
  Product& p = found->second;
  constexpr std::size_t alignment = 64;
  const std::size_t needed = (p.scratch_bytes + alignment) / sizeof(std::max_align_t) + 1;
  if (mine.scratch.size() < needed) mine.scratch.resize(needed);
  const auto begin = reinterpret_cast<std::uintptr_t>(mine.scratch.data());
  p.a.set_data_handle(const_cast<Bf16*>(a));
  p.b.set_data_handle(const_cast<Bf16*>(b));
  p.c.set_data_handle(c);
  p.scratch.set_data_handle(
      reinterpret_cast<void*>((begin + alignment - 1) / alignment * alignment));
  p.primitive.execute(mine.stream, {{DNNL_ARG_SRC, p.a},
                                    {DNNL_ARG_WEIGHTS, p.b},
                                    {DNNL_ARG_DST, p.c},
                                    {DNNL_ARG_SCRATCHPAD, p.scratch}});
  mine.stream.wait();
}

template <class C>
constexpr Type type_of = std::is_same_v<C, Bf16> ? Type::bf16 : Type::f32;

[[noreturn]] void refused(const std::string& why) {
  fail(Status::resource, "gemm: oneDNN refused a product (" + why + ")");
}

}  // namespace

std::string name() {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch);
}

template <>
bool has<float>() {
  return true;
}
template <>
bool has<double>() {
  return false;
}
template <>
bool has<Bf16>() {
  // Each instruction set of oneDNN's is a set of bits that holds those it extends.
  constexpr unsigned needed = dnnl_cpu_isa_avx512_core_bf16;
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & needed) == needed;
}

template <class A, class C>
void gemm(Op op_a, Op op_b, Index m, Index n, Index k, Wide<A> alpha, const A* a, const A* b,
          Wide<A> beta, C* c) {
  if constexpr (std::is_same_v<A, float>) {
    const auto status =
        dnnl_sgemm(op_a == Op::none ? 'N' : 'T', op_b == Op::none ? 'N' : 'T', m, n, k, alpha, a,
                   op_a == Op::none ? k : m, b, op_b == Op::none ? n : k, beta, c, n);
    if (status != dnnl_success) refused("status " + std::to_string(status));
  } else if constexpr (std::is_same_v<A, Bf16>) {
    try {
      run({op_a, op_b, m, n, k, alpha, beta, type_of<C>}, a, b, c);
    } catch (const dnnl::error& error) {
      refused(error.what());
    }
  } else {
    refused("it has none in fp64");
  }
}

#define LEXIKOS_ONEDNN_GEMM(A, C) \
  template void gemm<A, C>(Op, Op, Index, Index, Index, Wide<A>, const A*, const A*, Wide<A>, C*);
LEXIKOS_ONEDNN_GEMM(float, float)
LEXIKOS_ONEDNN_GEMM(double, double)
LEXIKOS_ONEDNN_GEMM(Bf16, Bf16)
LEXIKOS_ONEDNN_GEMM(Bf16, float)
#undef LEXIKOS_ONEDNN_GEMM

}  // namespace lexikos::onednn
