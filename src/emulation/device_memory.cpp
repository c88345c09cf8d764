#include "emulation/device_memory.hpp"

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace lexikos::emulation {
namespace {

// Kokkos puts a header of this size before the elements and reads it on the host.
constexpr std::size_t header_bytes = sizeof(Kokkos::Impl::SharedAllocationHeader);

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }

/// The elements of one array.
struct Block {
  char* begin;
  std::size_t bytes;  // whole pages
  std::string label;
};

/// Every array of the device, and whether the host may reach them.
struct Arrays {
  std::mutex mutex;
  std::vector<Block> blocks;
  bool begun = false;
  int open = 0;  // kernels, copies and Accesses under way
  Counts counts;

  bool closed() const { return begun && open == 0; }
  void protect(int protection) const {
    for (const Block& b : blocks) mprotect(b.begin, b.bytes, protection);
  }
};

Arrays& arrays() {
  static Arrays* const all = new Arrays;  // outlives every static array
  return *all;
}

void open() {
  Arrays& a = arrays();
  const std::lock_guard<std::mutex> lock(a.mutex);
  if (a.closed()) a.protect(PROT_READ | PROT_WRITE);
  ++a.open;
}

void close() {
  Arrays& a = arrays();
  const std::lock_guard<std::mutex> lock(a.mutex);
  --a.open;
  if (a.closed()) a.protect(PROT_NONE);
}

void launch(const char* label, const std::uint32_t, std::uint64_t*) {
  ++arrays().counts.launches[label];
  open();
}
void finish(std::uint64_t) { close(); }

bool is_device(const Kokkos::Profiling::SpaceHandle& space) {
  return std::strcmp(space.name, DeviceMemory::name()) == 0;
}

void copy(Kokkos::Profiling::SpaceHandle to, const char*, const void*,
          Kokkos::Profiling::SpaceHandle from, const char*, const void*, std::uint64_t bytes) {
  if (is_device(to) != is_device(from)) {
    ++arrays().counts.copies;
    arrays().counts.copied_bytes += static_cast<std::int64_t>(bytes);
  }
  open();
}

/// Says whose array the host has touched and from where, and ends as without this handler.
void report(int signal, siginfo_t* info, void*) {
  const auto* const at = static_cast<const char*>(info->si_addr);
  for (const Block& b : arrays().blocks) {
    if (at < b.begin || at >= b.begin + b.bytes) continue;
    char line[400];
    const int length = std::snprintf(
        line, sizeof line,
        "\nlexikos: emulated device: host code follows a pointer into the device array '%s', byte "
        "%td, outside of a kernel or copy; called by\n",
        b.label.c_str(), at - b.begin);
    void* callers[24];
    if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) == length) {
      backtrace_symbols_fd(callers, backtrace(callers, 24), STDERR_FILENO);
    }
    break;
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void* DeviceMemory::allocate(const char* label, std::size_t bytes, std::size_t) const {
  const std::size_t elements = whole_pages(bytes - header_bytes);
  // A page for the header, the elements, and a page that stays closed behind them.
  void* const all = mmap(nullptr, elements + 2 * page(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(all) + page();
  mprotect(begin + elements, page(), PROT_NONE);
  std::memset(begin, 0xff, elements);  // not a number, until a kernel writes one
  Arrays& a = arrays();
  const std::lock_guard<std::mutex> lock(a.mutex);
  a.blocks.push_back({begin, elements, label});
  if (a.closed()) mprotect(begin, elements, PROT_NONE);
  return begin - header_bytes;
}

void DeviceMemory::deallocate(const char*, void* memory, std::size_t, std::size_t) const {
  char* const begin = static_cast<char*>(memory) + header_bytes;
  Arrays& a = arrays();
  const std::lock_guard<std::mutex> lock(a.mutex);
  for (auto b = a.blocks.begin(); b != a.blocks.end(); ++b) {
    if (b->begin != begin) continue;
    munmap(begin - page(), b->bytes + 2 * page());
    a.blocks.erase(b);
    return;
  }
}

Access::Access() { open(); }
Access::~Access() { close(); }

void begin() {
  namespace hooks = Kokkos::Tools::Experimental;
  hooks::set_begin_parallel_for_callback(launch);
  hooks::set_end_parallel_for_callback(finish);
  hooks::set_begin_parallel_reduce_callback(launch);
  hooks::set_end_parallel_reduce_callback(finish);
  hooks::set_begin_parallel_scan_callback(launch);
  hooks::set_end_parallel_scan_callback(finish);
  hooks::set_begin_deep_copy_callback(copy);
  hooks::set_end_deep_copy_callback(close);

  struct sigaction action = {};
  action.sa_sigaction = report;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);

  Arrays& a = arrays();
  const std::lock_guard<std::mutex> lock(a.mutex);
  a.begun = true;
  a.protect(PROT_NONE);
}

const Counts& counts() { return arrays().counts; }

}  // namespace lexikos::emulation

#if !defined(KOKKOS_IMPL_SHARED_ALLOCATION_SPECIALIZATION)
#include <impl/Kokkos_SharedAlloc_timpl.hpp>

namespace Kokkos::Impl {

using lexikos::emulation::DeviceMemory;

SharedAllocationRecord<DeviceMemory, void>::SharedAllocationRecord(
    const DeviceMemory& space, const std::string& label, std::size_t bytes,
    SharedAllocationRecord<void, void>::function_type free)
    : SharedAllocationRecordCommon<DeviceMemory>(
          checked_allocation_with_header(space, label, bytes),
          sizeof(SharedAllocationHeader) + bytes, free),
      space_(space) {
  _fill_host_accessible_header_info(*RecordBase::m_alloc_ptr, label);
}

SharedAllocationRecord<DeviceMemory, void>::~SharedAllocationRecord() {
  space_.deallocate(RecordBase::m_alloc_ptr->m_label, RecordBase::m_alloc_ptr,
                    RecordBase::m_alloc_size);
}

}  // namespace Kokkos::Impl
#endif
