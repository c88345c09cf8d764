# lexikos_flags: what every target of the project is compiled with.
include(CheckCXXCompilerFlag)

add_library(lexikos_flags INTERFACE)
target_compile_features(lexikos_flags INTERFACE cxx_std_20)
target_compile_options(lexikos_flags INTERFACE -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps in `"text" + std::string` that are not (GCC bug 105651).
  target_compile_options(lexikos_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # A remark of the optimizer, not about the code: some `omp simd` loops stay scalar.
  target_compile_options(lexikos_flags INTERFACE -Wno-pass-failed)
endif()
if(LEXIKOS_WERROR)
  target_compile_options(lexikos_flags INTERFACE -Werror)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  # Sums are reordered where the code says so (`omp simd reduction`) and nowhere
  # else: range reductions of exp depend on the order that is written.
  set(fast -fno-math-errno -fno-trapping-math -ffp-contract=fast)
  target_compile_options(lexikos_flags INTERFACE
    "$<$<NOT:$<CONFIG:Debug>>:-O3;${fast}>")
  # `omp simd` loops are vectorised under every backend, the serial one too.
  target_compile_options(lexikos_flags INTERFACE -fopenmp-simd)
endif()

if(LEXIKOS_NATIVE AND NOT LEXIKOS_ON_DEVICE)
  check_cxx_compiler_flag(-march=native LEXIKOS_HAS_MARCH_NATIVE)
  if(LEXIKOS_HAS_MARCH_NATIVE)
    target_compile_options(lexikos_flags INTERFACE -march=native)
  endif()
endif()

if(LEXIKOS_EMULATE_DEVICE)
  target_compile_definitions(lexikos_flags INTERFACE LEXIKOS_EMULATE_DEVICE)
  target_link_options(lexikos_flags INTERFACE -rdynamic)  # the names of a fault's callers
endif()
if(LEXIKOS_SANITIZE)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  target_compile_options(lexikos_flags INTERFACE ${sanitize})
  target_link_options(lexikos_flags INTERFACE ${sanitize})
endif()
