// Memory of an emulated device (LEXIKOS_EMULATE_DEVICE): host memory in pages of its own, which no
// host code can read or write, as it cannot follow a pointer into a GPU's memory.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace lexikos::emulation {

/// A memory space of Kokkos's. Its pages are open only in a kernel, in a copy, and while an Access
/// lives; anyone else who follows a pointer into them ends the process with SIGSEGV, after a line
/// that names the array and the element's byte and a list of the callers.
class DeviceMemory {
 public:
  using memory_space = DeviceMemory;
  using execution_space = Kokkos::DefaultExecutionSpace;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;

  static constexpr const char* name() { return "EmulatedDevice"; }

  // What Kokkos asks of a memory space. Errors: std::bad_alloc.
  void* allocate(std::size_t bytes) const { return allocate("", bytes); }
  void* allocate(const char* label, std::size_t bytes, std::size_t logical_bytes = 0) const;
  void deallocate(void* memory, std::size_t bytes) const { deallocate("", memory, bytes); }
  void deallocate(const char* label, void* memory, std::size_t bytes,
                  std::size_t logical_bytes = 0) const;
  template <class Execution>
  void* allocate(const Execution&, const char* label, std::size_t bytes,
                 std::size_t logical_bytes = 0) const {
    return allocate(label, bytes, logical_bytes);
  }
};

/// Opens device memory to the host while it lives, for what a device would do by itself: an MPI
/// that reads device memory. Accesses and kernels may lie within one another.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

/// Opens and closes device memory around every kernel and copy from now on. To be called once,
/// after Kokkos::initialize; until then the memory is open.
void begin();

/// What a device would have been asked to do since begin().
struct Counts {
  std::map<std::string, std::int64_t> launches;  // by the kernel's label
  std::int64_t copies = 0;                       // between host and device
  std::int64_t copied_bytes = 0;
};
const Counts& counts();

}  // namespace lexikos::emulation

namespace Kokkos::Impl {

// The host's threads play the device's, so kernels may follow these pointers; but an array of the
// device is none of the host's.
template <>
struct MemorySpaceAccess<Kokkos::HostSpace, lexikos::emulation::DeviceMemory> {
  enum : bool { assignable = false, accessible = true, deepcopy = true };
};
template <>
struct MemorySpaceAccess<lexikos::emulation::DeviceMemory, Kokkos::HostSpace> {
  enum : bool { assignable = false, accessible = true, deepcopy = true };
};

template <class Execution>
struct DeepCopy<lexikos::emulation::DeviceMemory, Kokkos::HostSpace, Execution>
    : DeepCopy<Kokkos::HostSpace, Kokkos::HostSpace, Execution> {
  using DeepCopy<Kokkos::HostSpace, Kokkos::HostSpace, Execution>::DeepCopy;
};
template <class Execution>
struct DeepCopy<Kokkos::HostSpace, lexikos::emulation::DeviceMemory, Execution>
    : DeepCopy<Kokkos::HostSpace, Kokkos::HostSpace, Execution> {
  using DeepCopy<Kokkos::HostSpace, Kokkos::HostSpace, Execution>::DeepCopy;
};
template <class Execution>
struct DeepCopy<lexikos::emulation::DeviceMemory, lexikos::emulation::DeviceMemory, Execution>
    : DeepCopy<Kokkos::HostSpace, Kokkos::HostSpace, Execution> {
  using DeepCopy<Kokkos::HostSpace, Kokkos::HostSpace, Execution>::DeepCopy;
};

#if !defined(KOKKOS_IMPL_SHARED_ALLOCATION_SPECIALIZATION)
template <>
class SharedAllocationRecord<lexikos::emulation::DeviceMemory, void>
    : public SharedAllocationRecordCommon<lexikos::emulation::DeviceMemory> {
 public:
  static SharedAllocationRecord* allocate(const lexikos::emulation::DeviceMemory& space,
                                          const std::string& label, std::size_t bytes) {
    return new SharedAllocationRecord(space, label, bytes);
  }

 protected:
  ~SharedAllocationRecord();
  SharedAllocationRecord(const lexikos::emulation::DeviceMemory& space, const std::string& label,
                         std::size_t bytes,
                         SharedAllocationRecord<void, void>::function_type free = &deallocate);

 private:
  using RecordBase = SharedAllocationRecord<void, void>;
  friend class SharedAllocationRecordCommon<lexikos::emulation::DeviceMemory>;
  lexikos::emulation::DeviceMemory space_;
};
#endif

}  // namespace Kokkos::Impl

#if defined(KOKKOS_IMPL_SHARED_ALLOCATION_SPECIALIZATION)
KOKKOS_IMPL_SHARED_ALLOCATION_SPECIALIZATION(lexikos::emulation::DeviceMemory);
#endif
