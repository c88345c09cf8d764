#include "hdf5/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hdf5/probe.hpp"
#include "hdf5/seal.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos::detail {
namespace {

/// Soft links on the way to an object; more of them must go round in a circle.
constexpr int most_links = 32;

/// Why a file cannot be opened, found with the system's own calls because HDF5's texts hide it;
/// otherwise its size.
std::uint64_t openable_size(const std::string& path, const std::string& advice) {
  const std::string start = "cannot read '" + path + "': ";
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(Status::file, start + std::strerror(errno) + "; " + advice);
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  close(descriptor);
  if (!known || !S_ISREG(status.st_mode)) {
    const bool folder = known && S_ISDIR(status.st_mode);
    fail(Status::file, start + (folder ? "it is a folder; " : "it is no regular file; ") + advice);
  }
  if (status.st_size == 0) fail(Status::file, start + "the file is empty; " + advice);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

OpenFile::OpenFile(const std::string& path, const std::string& advice,
                   const std::string& if_damaged)
    : extent_(path, openable_size(path, advice)), advice_(advice), if_damaged_(if_damaged) {
  start_hdf5();
  sealed_ = has_seal(path);
  if (sealed_) check_seal(path, if_damaged);
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    refuse("it is not an HDF5 file; " + advice);
  }
  probe_hdf5(path, if_damaged);
  file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file_.valid()) {
    refuse("the file is damaged or truncated (" + hdf5_reason() + "); " + if_damaged);
  }
}

std::vector<char> OpenFile::link_value(const std::string& link, std::size_t bytes) const {
  extent_.require_inside("the link '" + link + "'", 0, bytes, 1);
  std::vector<char> value(bytes + 1, '\0');
  checked(H5Lget_val(file_.id(), link.c_str(), value.data(), bytes, H5P_DEFAULT), link);
  return value;
}

void OpenFile::refuse_outside(const std::string& link, const H5L_info_t& info) const {
  const std::vector<char> value = link_value(link, info.u.val_size);
  const char *file = "", *object = "";
  unsigned flags = 0;
  if (info.type == H5L_TYPE_EXTERNAL) {
    checked(H5Lunpack_elink_val(value.data(), info.u.val_size, &flags, &file, &object), link);
  }
  refuse("'" + link + "' is a link out of it (to object '" + object + "' of file '" + file +
         "'), and such links are not followed; name that file and object instead");
}

std::optional<std::string> OpenFile::resolve(const std::string& name) const {
  return resolve(name, [this](const std::string& link, const H5L_info_t& info) {
    refuse_outside(link, info);
  });
}

bool OpenFile::is_inside(const std::string& name) const {
  return resolve(name, [](const std::string&, const H5L_info_t&) {}).has_value();
}

std::optional<std::string> OpenFile::resolve(const std::string& name,
                                             const LeadsOut& leads_out) const {
  std::vector<std::string> left = split(name, '/');  // parts still to go, the next one last
  std::reverse(left.begin(), left.end());
  std::string way;
  for (int links = 0; !left.empty();) {
    const std::string part = left.back();
    left.pop_back();
    if (part.empty() || part == ".") continue;
    const std::string link = way + "/" + part;
    H5L_info_t info;
    if (H5Lget_info(file_.id(), link.c_str(), &info, H5P_DEFAULT) < 0) {
      H5Eclear2(H5E_DEFAULT);
      return std::nullopt;
    }
    if (info.type == H5L_TYPE_HARD) {
      way = link;
      continue;
    }
    if (info.type != H5L_TYPE_SOFT) {
      leads_out(link, info);
      return std::nullopt;
    }
    if (++links > most_links) return std::nullopt;  // in a circle, they lead nowhere
    const std::string target = link_value(link, info.u.val_size).data();
    if (target.rfind('/', 0) == 0) way.clear();
    std::vector<std::string> more = split(target, '/');
    left.insert(left.end(), more.rbegin(), more.rend());
  }
  return way.empty() ? "/" : way;
}

Handle OpenFile::found(const std::string& name, const char* what, Open open,
                       Handle::Close close) const {
  const std::optional<std::string> place = resolve(name);
  if (!place) refuse(std::string("there is no ") + what + " '" + name + "' in it; " + advice_);
  Handle opened(open(file_.id(), place->c_str(), H5P_DEFAULT), close);
  if (!opened.valid()) {
    refuse("'" + name + "' is damaged, truncated or no " + what + " (" + hdf5_reason() + "); " +
           if_damaged_);
  }
  return opened;
}

Handle OpenFile::object(const std::string& name) const {
  return found(name, "object", H5Oopen, H5Oclose);
}
Handle OpenFile::dataset(const std::string& name) const {
  return found(name, "dataset", H5Dopen2, H5Dclose);
}
Handle OpenFile::group(const std::string& name) const {
  return found(name, "group", H5Gopen2, H5Gclose);
}

}  // namespace lexikos::detail
