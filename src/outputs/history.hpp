// History: the numbers of a run against its steps, in memory and in history.h5.
//
// Four groups of columns: "history" (one row a recorded step), "validation" (one row an
// evaluation), "frequency" (one row a bin of token frequency in each evaluation) and "geometry"
// (one row a matrix whose cosines were measured). Base columns are there from the start; packages
// add theirs to "history" before the first row. The file is written whole and renamed, so a reader
// never sees half of it. README.md has the layout.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"

namespace lexikos {

/// One number of a row: whole or real.
using HistoryValue = std::variant<std::int64_t, double>;

/// One column: `values` holds int64 or double, one a row.
struct HistoryColumn {
  std::string name;
  std::string unit;        ///< "1" where there is none
  std::string definition;  ///< what the number is, in one sentence
  std::variant<std::vector<std::int64_t>, std::vector<double>> values;

  [[nodiscard]] bool whole() const { return values.index() == 0; }
  [[nodiscard]] std::int64_t size() const;
};

class History {
 public:
  enum class Type { whole, real };

  /// The base columns of all groups, no rows.
  History();

  /// Adds a column at the end of a group that has no rows yet.
  void add_column(const std::string& group, const std::string& name, Type type,
                  const std::string& unit, const std::string& definition);

  /// Adds a row; the values in the order of columns(group). A whole number may go into a real
  /// column; anything else that does not fit is an Error(Status::file) that names the column.
  void append(const std::string& group, const std::vector<HistoryValue>& row);

  [[nodiscard]] const std::vector<HistoryColumn>& columns(const std::string& group) const;
  /// One column by name; an unknown name is an Error that lists the known ones.
  [[nodiscard]] const HistoryColumn& column(const std::string& group,
                                            const std::string& name) const;
  [[nodiscard]] std::int64_t rows(const std::string& group) const;

  /// Drops every row whose step is larger than `step`: what a restart from that step has not done
  /// yet.
  void truncate_after(std::int64_t step);

  /// Writes `path` as a whole: `attributes` on the root (beside format and format_version, which
  /// are set here), and the groups. Errors: as Hdf5Writer.
  void write(const std::string& path, const Attributes& attributes) const;

  /// The same as an evaluation.h5: "validation" and "frequency" alone.
  void write_evaluation(const std::string& path, const Attributes& attributes) const;

  /// Replaces all rows by those of an open history or checkpoint file. The columns of this object
  /// and of the file must be the same, with one exception: a real column that the file lacks is
  /// filled with NaN. Errors: a column that differs, columns of unequal length.
  void read_rows(const Hdf5Reader& file);

  /// A history.h5 as it stands, with its own columns; its root attributes go to *attributes if
  /// given.
  static History read(const std::string& path, Attributes* attributes = nullptr);

  /// The groups into a file being written; for checkpoints.
  void write_groups(Hdf5Writer& file) const;

 private:
  struct Group {
    std::string name;
    std::string description;
    std::vector<HistoryColumn> columns;
  };

  static void write_group(Hdf5Writer& file, const Group& group);
  [[nodiscard]] const Group& group(const std::string& name) const;
  Group& group(const std::string& name);

  std::vector<Group> groups_;
};

/// Newest format version of history.h5 that is written and read.
inline constexpr std::int64_t history_format_version = 2;

/// Format version of evaluation.h5 that is written.
inline constexpr std::int64_t evaluation_format_version = 1;

}  // namespace lexikos
