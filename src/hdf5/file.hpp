// HDF5 files: opened, read, written and closed here and nowhere else.
//
// Reading: `Hdf5Reader`. Writing: `Hdf5Writer`, which builds `<path>.tmp.<pid>` and renames it when
// it is whole, so a reader never sees half a file and a failure leaves the previous file as it was.
// Every failure is an Error(Status::file) on one line: the path, the reason (the system's own text
// where there is one) and what to do. The library's own error printing and its file locks are off
// (locks fail on Lustre and NFS; HDF5_USE_FILE_LOCKING in the environment is respected if the user
// set it).
//
// Names are paths inside the file ("/history/step"); the root object is "/". Groups on the way are
// made when a dataset is written. Element types T: float, double, int64_t, uint64_t, uint32_t,
// uint16_t, uint8_t. On disk everything is little-endian; strings are variable-length UTF-8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hdf5/attributes.hpp"

namespace lexikos {

/// What a dataset holds. Its values are all there: what was never written, lies in other files, or
/// is more than the file can hold is an error of info().
struct DatasetInfo {
  enum class Kind { unsigned_integer, signed_integer, real, string, other };

  std::vector<std::int64_t> shape;
  Kind kind = Kind::other;
  std::int64_t element_bytes = 0;
  std::string type;  ///< in words: "uint16", "float64, big-endian", "text"
  /// Byte of this file from which the elements lie one behind the other as this machine keeps them
  /// in memory; -1: only reading through HDF5 gives them.
  std::int64_t mappable_at = -1;

  /// Number of elements.
  [[nodiscard]] std::int64_t size() const;
};

namespace detail {
class OpenFile;
}

class Hdf5Reader {
 public:
  /// Opens for reading. A file with a seal (seal.hpp) is compared with it; then another
  /// process looks at it first (probe.hpp). `advice` ends the message of a file that is
  /// not there or not what is expected ("check data.tokens"), `if_damaged` that of a damaged one.
  /// Errors: missing or unreadable file, not HDF5, changed, damaged or truncated.
  explicit Hdf5Reader(const std::string& path, const std::string& advice = "check the path",
                      const std::string& if_damaged = "copy or prepare it again");
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;

  [[nodiscard]] const std::string& path() const;

  /// Checks the root attributes `format` and `format_version` (1..newest). Errors: another kind of
  /// file, or one from a newer version; no seal, where versions from `sealed_from` on have one (0:
  /// none must).
  void require_format(const std::string& format, std::int64_t newest,
                      std::int64_t sealed_from = 0) const;

  /// True where the object (dataset or group) exists. Here and below: a link into another file is
  /// an error that names it.
  [[nodiscard]] bool has(const std::string& object) const;
  [[nodiscard]] bool is_dataset(const std::string& object) const;
  [[nodiscard]] bool is_group(const std::string& object) const;
  /// Whether the name stands for an object of this very file: false for a link into another file,
  /// and one that leads nowhere.
  [[nodiscard]] bool is_inside(const std::string& object) const;
  /// Names of the members of a group, in order of creation where the file kept it, else by name.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;

  [[nodiscard]] bool has_attribute(const std::string& object, const std::string& name) const;
  /// One attribute; text of fixed or variable length, any integer, any real. Errors: absent, or not
  /// a single value of one of these kinds.
  [[nodiscard]] AttributeValue attribute(const std::string& object, const std::string& name) const;
  /// All attributes of an object that are text or a single number.
  [[nodiscard]] Attributes attributes(const std::string& object) const;
  /// One attribute as one type, with the file's name in the error.
  [[nodiscard]] std::string text(const std::string& object, const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const std::string& object, const std::string& name) const;
  [[nodiscard]] double real(const std::string& object, const std::string& name) const;

  [[nodiscard]] DatasetInfo info(const std::string& dataset) const;

  /// The whole dataset into out[count], converted to T; `count` must be its size. Here and below:
  /// whole numbers become whole numbers and real ones real ones; a value that T cannot hold, or
  /// another type, is an error.
  template <class T>
  void read(const std::string& dataset, T* out, std::int64_t count) const;
  /// The whole dataset, rows one behind the other, converted to T.
  template <class T>
  [[nodiscard]] std::vector<T> read(const std::string& dataset) const;
  /// The same of a dataset that must have one dimension.
  template <class T>
  [[nodiscard]] std::vector<T> read_list(const std::string& dataset) const;
  /// Rows [begin, begin + rows) along the first dimension, converted to T. The dataset stays open
  /// between calls on the same name, so that its chunk cache serves the next call.
  template <class T>
  void read_rows(const std::string& dataset, std::int64_t begin, std::int64_t rows, T* out) const;
  /// A 1-D dataset of strings.
  [[nodiscard]] std::vector<std::string> read_strings(const std::string& dataset) const;

 private:
  [[nodiscard]] const detail::OpenFile& file() const;
  struct State;
  std::unique_ptr<State> state_;
};

class Hdf5Writer {
 public:
  /// Starts `<path>.tmp.<pid>`. Errors: the folder is missing or cannot be written.
  explicit Hdf5Writer(const std::string& path);
  /// Without commit() before it: removes the temporary; `path` is as it was.
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  [[nodiscard]] const std::string& path() const;

  /// An empty group that remembers the order of its members.
  void create_group(const std::string& name);
  void set_attribute(const std::string& object, const std::string& name,
                     const AttributeValue& value);
  void set_attributes(const std::string& object, const Attributes& attributes);

  /// A dataset of the given shape, contiguous in the file.
  template <class T>
  void write(const std::string& dataset, const std::vector<std::int64_t>& shape, const T* data);
  /// A 1-D dataset, chunked and without an upper limit to its length.
  template <class T>
  void write_extendable(const std::string& dataset, const std::vector<T>& values);
  /// A contiguous dataset to be filled by write_rows; rows never written are undefined.
  template <class T>
  void create(const std::string& dataset, const std::vector<std::int64_t>& shape);
  template <class T>
  void write_rows(const std::string& dataset, std::int64_t begin, std::int64_t rows, const T* data);
  void write_strings(const std::string& dataset, const std::vector<std::string>& values);

  /// Flushes, closes and seals the file (seal.hpp), waits until the disk has it, and names it.
  /// After it the writer can only be destroyed. Errors: whatever the disk refuses, also what it
  /// refuses late.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lexikos
