#include "hdf5/driver.hpp"

#include <H5FDpublic.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "utils/error.hpp"

namespace lexikos::detail {

void OutputDescriptor::write(std::uint64_t offset, const void* bytes, std::size_t count) {
  constexpr std::size_t most = std::size_t{1} << 30;  // the system writes less than 2 GiB a call
  const char* next = static_cast<const char*>(bytes);
  end = std::max(end, offset + count);
  while (count > 0 && error == 0) {
    const ssize_t done =
        pwrite(descriptor, next, std::min(count, most), static_cast<off_t>(offset));
    if (done < 0) {
      if (errno != EINTR) error = errno;
    } else if (done == 0) {
      error = ENOSPC;
    } else {
      next += done;
      offset += static_cast<std::uint64_t>(done);
      count -= static_cast<std::size_t>(done);
    }
  }
}

void OutputDescriptor::resize(std::uint64_t size) {
  end = size;
  if (error == 0 && ftruncate(descriptor, static_cast<off_t>(size)) != 0) error = errno;
}

namespace {

struct DriverInfo {
  OutputDescriptor* file;
};

// What HDF5 holds for an open file; its own part must come first.
struct DriverFile {
  H5FD_t base;
  OutputDescriptor* file;
  haddr_t allocated;
};

DriverFile* self(H5FD_t* base) { return reinterpret_cast<DriverFile*>(base); }
const DriverFile* self(const H5FD_t* base) { return reinterpret_cast<const DriverFile*>(base); }

H5FD_t* driver_open(const char*, unsigned, hid_t access_list, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access_list));
  if (info == nullptr) return nullptr;
  auto* opened = static_cast<DriverFile*>(std::calloc(1, sizeof(DriverFile)));
  if (opened == nullptr) return nullptr;
  opened->file = info->file;
  return &opened->base;
}

herr_t driver_close(H5FD_t* base) {
  std::free(self(base));
  return 0;
}

herr_t driver_query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
#ifdef H5FD_FEAT_DEFAULT_VFD_COMPATIBLE
    *flags |= H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
#endif
  }
  return 0;
}

haddr_t driver_get_eoa(const H5FD_t* base, H5FD_mem_t) { return self(base)->allocated; }

herr_t driver_set_eoa(H5FD_t* base, H5FD_mem_t, haddr_t address) {
  self(base)->allocated = address;
  return 0;
}

haddr_t driver_get_eof(const H5FD_t* base, H5FD_mem_t) { return self(base)->file->end; }

herr_t driver_read(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count, void* out) {
  char* next = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t done =
        pread(self(base)->file->descriptor, next, count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    if (done == 0) {  // past the end of the file: HDF5 expects zeros
      std::memset(next, 0, count);
      return 0;
    }
    next += done;
    offset += static_cast<haddr_t>(done);
    count -= static_cast<std::size_t>(done);
  }
  return 0;
}

herr_t driver_write(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t offset, std::size_t count,
                    const void* bytes) {
  self(base)->file->write(offset, bytes, count);
  return 0;
}

herr_t driver_truncate(H5FD_t* base, hid_t, hbool_t) {
  DriverFile* opened = self(base);
  if (opened->file->end != opened->allocated) opened->file->resize(opened->allocated);
  return 0;
}

hid_t register_driver() {
  static H5FD_class_t driver;
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(487);  // 256 to 511: for a program's own use
#endif
  driver.name = "lexikos_output";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = driver_open;
  driver.close = driver_close;
  driver.query = driver_query;
  driver.get_eoa = driver_get_eoa;
  driver.set_eoa = driver_set_eoa;
  driver.get_eof = driver_get_eof;
  driver.read = driver_read;
  driver.write = driver_write;
  driver.truncate = driver_truncate;
  const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_SINGLE;
  std::copy(std::begin(map), std::end(map), driver.fl_map);
  return H5FDregister(&driver);
}

}  // namespace

Handle output_access_list(OutputDescriptor* file) {
  static const hid_t driver = register_driver();
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const DriverInfo info{file};
  if (driver < 0 || !list.valid() || H5Pset_driver(list.id(), driver, &info) < 0 ||
      // Metadata with checksums, in the form that every HDF5 since 1.8 reads.
      H5Pset_libver_bounds(list.id(), H5F_LIBVER_V18, H5F_LIBVER_V110) < 0) {
    fail(Status::file, "the HDF5 library refused its file driver: " + hdf5_reason());
  }
  return list;
}

}  // namespace lexikos::detail
