# Finds everything Lexikos is built on: the user's own first, then what
# bootstrap.sh installed. Ends in one target, lexikos_dependencies, and a
# summary that says which was taken from where.

# --- where to look -------------------------------------------------------------

# The same default as in scripts/common.sh.
if(DEFINED ENV{LEXIKOS_PREFIX})
  set(prefix "$ENV{LEXIKOS_PREFIX}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(prefix "$ENV{XDG_CACHE_HOME}/lexikos")
else()
  set(prefix "$ENV{HOME}/.cache/lexikos")
endif()
set(LEXIKOS_PREFIX "${prefix}" CACHE PATH "Folder that cmake/bootstrap.sh installs into")

set(LEXIKOS_SUMMARY "")
# Usage: lexikos_summary(NAME VERSION PLACE)
function(lexikos_summary name version place)
  if(place MATCHES "^${LEXIKOS_PREFIX}")
    set(origin "bootstrapped")
  elseif(place MATCHES "^/(usr|lib)/" AND NOT place MATCHES "^/usr/local/")
    set(origin "system")
  else()
    set(origin "user's")
  endif()
  set(LEXIKOS_SUMMARY "${LEXIKOS_SUMMARY}  ${name} ${version}, ${origin}: ${place}\n"
    PARENT_SCOPE)
endfunction()

# Usage: lexikos_missing(WHAT DEBIAN_PACKAGE HINT_VARIABLE)
function(lexikos_missing what package variable)
  message(FATAL_ERROR "${what} was not found.\n"
    "  on Debian or Ubuntu: cmake/bootstrap.sh   (or: apt-get install ${package})\n"
    "  on a cluster: load its module, or add -D${variable}=<where it is>")
endfunction()

# --- Kokkos and Kokkos Kernels ---------------------------------------------------

# The probe runs in a folder of its own: a Kokkos that does not fit leaves no
# targets behind. First over the user's paths, then over what was bootstrapped.
set(LEXIKOS_PROBE_PATHS "")
add_subdirectory(cmake/probe)
set(rejected "")
if(LEXIKOS_PROBE_PROBLEM)
  if(LEXIKOS_PROBE_DIR)
    set(rejected "Kokkos ${LEXIKOS_PROBE_VERSION} in ${LEXIKOS_PROBE_DIR} not used: ${LEXIKOS_PROBE_PROBLEM}")
    message(STATUS "${rejected}")
  endif()
  set(backend "${LEXIKOS_BACKEND}")
  if(NOT backend)
    set(backend openmp)
  endif()
  # Only installs that were finished carry the stamp.
  file(GLOB stamps "${LEXIKOS_PREFIX}/kokkos-*-${backend}/.lexikos-stamp")
  list(TRANSFORM stamps REPLACE "/[^/]*$" "")
  if(stamps)
    set(LEXIKOS_PROBE_PATHS ${stamps})
    add_subdirectory(cmake/probe cmake/probe-bootstrapped)
  endif()
  if(LEXIKOS_PROBE_PROBLEM)
    message(FATAL_ERROR "No Kokkos (>= 3.4) with Kokkos Kernels fits the backend '${backend}'. ${rejected}\n"
      "  to get it: cmake/bootstrap.sh --backend ${backend}\n"
      "  to use your own: export CMAKE_PREFIX_PATH=<kokkos>:<kokkos-kernels>\n"
      "  looked for bootstrapped ones in: ${LEXIKOS_PREFIX}")
  endif()
endif()

set(user_kokkos "$CACHE{Kokkos_DIR}")
set(user_kernels "$CACHE{KokkosKernels_DIR}")
set(Kokkos_DIR "${LEXIKOS_PROBE_DIR}")
find_package(Kokkos CONFIG REQUIRED)
lexikos_summary("Kokkos" "${Kokkos_VERSION} (${Kokkos_DEVICES})" "${Kokkos_DIR}")

set(devices ${Kokkos_DEVICES})
list(TRANSFORM devices TOUPPER)
set(LEXIKOS_ON_DEVICE OFF)
foreach(device CUDA HIP SYCL)
  if(device IN_LIST devices)
    set(LEXIKOS_ON_DEVICE ON)
  endif()
endforeach()
if(LEXIKOS_EMULATE_DEVICE AND LEXIKOS_ON_DEVICE)
  message(FATAL_ERROR "LEXIKOS_EMULATE_DEVICE plays a device on a host; this Kokkos has a device of its own.\n"
    "  add -DLEXIKOS_BACKEND=openmp, or leave LEXIKOS_EMULATE_DEVICE out")
endif()
# A kernel that was compiled for another architecture does not start, or is compiled again at every start.
set(fitting "")
string(TOUPPER "${Kokkos_ARCH}" built_for)
foreach(arch IN LISTS LEXIKOS_KOKKOS_ARCH)
  if(arch IN_LIST built_for)
    list(APPEND fitting "${arch}")
  endif()
endforeach()
if(LEXIKOS_KOKKOS_ARCH AND NOT fitting)
  list(JOIN LEXIKOS_KOKKOS_ARCH " or " wanted)
  message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} is built for '${Kokkos_ARCH}', not for ${wanted}.\n"
    "  to get it: build Kokkos with -DKokkos_ARCH_<one of these>=ON, and put it into CMAKE_PREFIX_PATH\n"
    "  to use this one as it is: -DLEXIKOS_KOKKOS_ARCH=")
endif()
if("CUDA" IN_LIST devices AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
   NOT CMAKE_CXX_COMPILER MATCHES "nvcc_wrapper" AND NOT COMMAND kokkos_compilation)
  message(FATAL_ERROR "This Kokkos is for CUDA, but ${CMAKE_CXX_COMPILER} is not its compiler.\n"
    "  type: rm -rf <build folder>, then configure with -DCMAKE_CXX_COMPILER=<kokkos>/bin/nvcc_wrapper")
endif()

add_library(lexikos_dependencies INTERFACE)
target_link_libraries(lexikos_dependencies INTERFACE Kokkos::kokkos)

if(LEXIKOS_KOKKOS_KERNELS)
  set(KokkosKernels_DIR "${LEXIKOS_PROBE_KERNELS_DIR}")
  find_package(KokkosKernels CONFIG REQUIRED)
  lexikos_summary("Kokkos Kernels" "${LEXIKOS_PROBE_KERNELS_VERSION}" "${KokkosKernels_DIR}")
  target_link_libraries(lexikos_dependencies INTERFACE Kokkos::kokkoskernels)
  set(LEXIKOS_GEMM_kokkos_kernels ON)
else()
  string(APPEND LEXIKOS_SUMMARY
    "  Kokkos Kernels not used, as asked: products that no other library has go to plain loops, slow\n")
endif()

# As in the probe: only the user's word stays in the cache.
if(NOT user_kokkos)
  unset(Kokkos_DIR CACHE)
endif()
if(NOT user_kernels)
  unset(KokkosKernels_DIR CACHE)
endif()

# --- MPI ---------------------------------------------------------------------------

find_package(MPI QUIET COMPONENTS C CXX)
if(NOT MPI_CXX_FOUND)
  lexikos_missing("MPI" "libopenmpi-dev openmpi-bin" "MPI_HOME")
endif()
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpi_version
  ERROR_QUIET)
string(REGEX REPLACE "\n.*" "" mpi_version "${mpi_version}")
set(LEXIKOS_OPEN_MPI OFF)
if(mpi_version MATCHES "Open ?MPI|OpenRTE|Open MPI|prte|prun")
  set(LEXIKOS_OPEN_MPI ON)
endif()
lexikos_summary("MPI" "${MPI_CXX_VERSION} (${mpi_version})" "${MPIEXEC_EXECUTABLE}")
target_link_libraries(lexikos_dependencies INTERFACE MPI::MPI_CXX)
# The C++ bindings are gone from MPI; their headers only bring warnings.
target_compile_definitions(lexikos_dependencies INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

# --- HDF5 --------------------------------------------------------------------------

# Only rank 0 writes, so the serial library is preferred; a parallel one does.
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 QUIET COMPONENTS C)
if(NOT HDF5_FOUND)
  lexikos_missing("HDF5 (C library)" "libhdf5-dev" "HDF5_ROOT")
endif()
list(GET HDF5_C_INCLUDE_DIRS 0 hdf5_place)
set(hdf5_kind serial)
if(HDF5_IS_PARALLEL)
  set(hdf5_kind parallel)
endif()
lexikos_summary("HDF5" "${HDF5_VERSION} (${hdf5_kind})" "${hdf5_place}")
target_link_libraries(lexikos_dependencies INTERFACE ${HDF5_C_LIBRARIES})
target_include_directories(lexikos_dependencies SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_compile_definitions(lexikos_dependencies INTERFACE ${HDF5_C_DEFINITIONS})

# --- toml11 ------------------------------------------------------------------------

# Without a version: 4 would be refused when 3.7 is asked for.
find_package(toml11 CONFIG QUIET)
if(NOT toml11_FOUND)
  lexikos_missing("toml11" "libtoml11-dev" "toml11_ROOT")
elseif(toml11_VERSION VERSION_LESS 3.7)
  message(FATAL_ERROR "toml11 ${toml11_VERSION} in ${toml11_DIR} is older than 3.7.\n"
    "  point to a newer one: -Dtoml11_ROOT=<where it is>")
endif()
lexikos_summary("toml11" "${toml11_VERSION}" "${toml11_DIR}")
target_link_libraries(lexikos_dependencies INTERFACE toml11::toml11)

# --- Catch2, for the tests -------------------------------------------------------

if(LEXIKOS_TESTS)
  find_package(Catch2 CONFIG QUIET)
  if(NOT Catch2_FOUND)
    lexikos_missing("Catch2 (needed for the tests; -DLEXIKOS_TESTS=OFF does without)"
      "catch2" "Catch2_ROOT")
  elseif(Catch2_VERSION VERSION_LESS 2.13)
    message(FATAL_ERROR "Catch2 ${Catch2_VERSION} in ${Catch2_DIR} is older than 2.13.\n"
      "  point to a newer one: -DCatch2_ROOT=<where it is>")
  endif()
  lexikos_summary("Catch2" "${Catch2_VERSION}" "${Catch2_DIR}")
endif()

# --- matrix products: oneDNN on the host, the vendor's on a GPU ----------------------

# Found by header and library: Debian's CMake config for it asks for OpenCL.
if(LEXIKOS_ONEDNN AND NOT LEXIKOS_ON_DEVICE AND NOT LEXIKOS_EMULATE_DEVICE)
  find_path(LEXIKOS_DNNL_INCLUDE oneapi/dnnl/dnnl.h PATH_SUFFIXES include
    HINTS ${dnnl_ROOT} ENV dnnl_ROOT ENV DNNLROOT)
  find_library(LEXIKOS_DNNL_LIBRARY dnnl PATH_SUFFIXES lib lib64
    HINTS ${dnnl_ROOT} ENV dnnl_ROOT ENV DNNLROOT)
  mark_as_advanced(LEXIKOS_DNNL_INCLUDE LEXIKOS_DNNL_LIBRARY)
  if(LEXIKOS_DNNL_INCLUDE AND LEXIKOS_DNNL_LIBRARY)
    file(GLOB versions "${LEXIKOS_DNNL_INCLUDE}/oneapi/dnnl/dnnl_version*.h")
    set(dnnl_version "")
    foreach(header IN LISTS versions)
      file(STRINGS "${header}" lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      foreach(part MAJOR MINOR PATCH)
        if("${lines}" MATCHES "VERSION_${part} +([0-9]+)")
          list(APPEND dnnl_version ${CMAKE_MATCH_1})
        endif()
      endforeach()
    endforeach()
    list(JOIN dnnl_version "." dnnl_version)
    lexikos_summary("oneDNN" "${dnnl_version}" "${LEXIKOS_DNNL_LIBRARY}")
    target_link_libraries(lexikos_dependencies INTERFACE "${LEXIKOS_DNNL_LIBRARY}")
    target_include_directories(lexikos_dependencies SYSTEM INTERFACE "${LEXIKOS_DNNL_INCLUDE}")
    set(LEXIKOS_GEMM_onednn ON)
  else()
    string(APPEND LEXIKOS_SUMMARY
      "  oneDNN not found: products on the host go to Kokkos Kernels, far slower\n")
  endif()
endif()

if("CUDA" IN_LIST devices)
  find_package(CUDAToolkit QUIET)
  if(NOT TARGET CUDA::cublas)
    lexikos_missing("cuBLAS" "nvidia-cuda-toolkit" "CUDAToolkit_ROOT")
  endif()
  lexikos_summary("CUDA Toolkit" "${CUDAToolkit_VERSION}" "${CUDAToolkit_LIBRARY_DIR}")
  target_link_libraries(lexikos_dependencies INTERFACE CUDA::cublas CUDA::cudart)
  target_compile_definitions(lexikos_dependencies INTERFACE LEXIKOS_HAVE_CUBLAS)
  set(LEXIKOS_GEMM_vendor ON)
endif()

if("HIP" IN_LIST devices)
  find_package(hipblas CONFIG QUIET HINTS ${ROCM_PATH} ENV ROCM_PATH PATHS /opt/rocm)
  if(NOT hipblas_FOUND)
    lexikos_missing("hipBLAS" "libhipblas-dev" "hipblas_ROOT")
  endif()
  lexikos_summary("hipBLAS" "${hipblas_VERSION}" "${hipblas_DIR}")
  target_link_libraries(lexikos_dependencies INTERFACE roc::hipblas)
  target_compile_definitions(lexikos_dependencies INTERFACE LEXIKOS_HAVE_HIPBLAS)
  set(LEXIKOS_GEMM_vendor ON)
endif()

# --- Python, for the tests that run scripts ------------------------------------------

# The same order as in scripts/common.sh, which passes its choice on.
set(LEXIKOS_PYTHON "" CACHE FILEPATH "Python with numpy, h5py, matplotlib, scipy, sentencepiece")
if(NOT LEXIKOS_PYTHON)
  foreach(candidate "$ENV{LEXIKOS_PYTHON}" python3 /usr/bin/python3)
    if(candidate)
      execute_process(
        COMMAND ${candidate} -c "import sys, numpy, h5py, matplotlib, scipy, sentencepiece; print(sys.executable)"
        RESULT_VARIABLE status OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(status EQUAL 0)
        set(LEXIKOS_PYTHON "${found}" CACHE FILEPATH "" FORCE)
        break()
      endif()
    endif()
  endforeach()
endif()
if(LEXIKOS_PYTHON)
  execute_process(COMMAND ${LEXIKOS_PYTHON} -c "import platform; print(platform.python_version())"
    OUTPUT_VARIABLE python_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  lexikos_summary("Python" "${python_version}" "${LEXIKOS_PYTHON}")
else()
  string(APPEND LEXIKOS_SUMMARY
    "  Python not found with its modules: tests of scripts are left out\n")
endif()

message(STATUS "Lexikos ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, built on\n${LEXIKOS_SUMMARY}")
