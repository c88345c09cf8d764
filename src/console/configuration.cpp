#include "console/configuration.hpp"

#include <hdf5.h>

#include <Kokkos_Core.hpp>
#include <vector>

#include "kernels/gemm/gemm.hpp"
#include "parallel/gradient_reducer.hpp"
#include "version.hpp"

namespace lexikos {
namespace {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

/// The library's first line, without what follows it.
std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text, length);
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100);
}

std::string code_version() { return std::string(version::number) + " (" + version::git + ")"; }

int host_threads() { return static_cast<int>(Kokkos::DefaultHostExecutionSpace().concurrency()); }

std::string device_text() {
  const int concurrency = static_cast<int>(ExecSpace().concurrency());
  return std::string(ExecSpace::name()) + ", " + std::to_string(concurrency) +
         (concurrency == 1 ? " thread" : " threads");
}

std::string configuration_text(const Communicator& world) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + value + "\n";
  };
  add("Lexikos", code_version() + ", " + version::build_type);
  add("compiler", version::compiler);
  add("Kokkos", kokkos_version() + ", built for " + version::kokkos_devices);
  add("device", device_text());
  add("GEMM fp32", gemm_library_name<float>());
  add("GEMM fp64", gemm_library_name<double>());
  add("GEMM bf16", gemm_library_name<Bf16>());
  add("MPI", mpi_library() + ", " + std::to_string(world.size()) +
                 (world.size() == 1 ? " rank" : " ranks"));
  add("MPI takes", device_is_host       ? "host pointers; arrays are in host memory, sent directly"
                   : mpi_is_gpu_aware() ? "device pointers"
                                        : "host pointers; gradients are staged");
  add("HDF5", hdf5_version());
  return text;
}

}  // namespace lexikos
