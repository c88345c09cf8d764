// History: groups of columns against steps, in memory and in files. It knows no group: each row
// type brings its own (outputs/columns.hpp).
//
// Files are written whole and renamed, so a reader never sees half of one. README.md has the
// layout.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "outputs/columns.hpp"

namespace lexikos {

/// What a file calls itself, and the newest version of it that is written and read.
struct FileFormat {
  const char* name;
  std::int64_t version;
};

inline constexpr FileFormat history_format = {"lexikos-history", 2};

class History {
 public:
  /// Adds the group of a row, without rows. Groups stand in files in the order of their
  /// declaration.
  template <class Row>
  void declare();

  /// Adds a column at the end of a row's group, which has no rows yet.
  template <class Row>
  void extend(const MeasuredColumn& column) {
    extend(Row::group.name, column);
  }

  /// Adds a row to the group that was declared for its type.
  template <class Row>
  void append(const Row& row);

  /// The numbers of one column, one a row, named by the member that gave them.
  template <class Row, class T>
  [[nodiscard]] const std::vector<T>& values(T Row::*member) const;

  /// The numbers of a real column, named as in files.
  [[nodiscard]] const std::vector<double>& values(const std::string& group,
                                                  const std::string& column) const;

  [[nodiscard]] std::int64_t rows(const std::string& group) const;

  /// Drops every row whose step is larger than `step`: what a restart from that step has not done
  /// yet.
  void truncate_after(std::int64_t step);

  /// Writes all groups as a file of their own; `attributes` go on its root beside format and
  /// format_version. Errors: as Hdf5Writer.
  void write(const std::string& path, const FileFormat& format, const Attributes& attributes) const;

  /// Adds all groups to a file being written.
  void write_groups(Hdf5Writer& file) const;

  /// Replaces all rows by those of an open file. Its columns must be the declared ones, with one
  /// exception: a real column that the file lacks is filled with NaN. Errors, and then no row has
  /// changed: a column or a type that differs, columns of unequal length.
  void read_rows(const Hdf5Reader& file);

 private:
  using Values = std::variant<std::vector<std::int64_t>, std::vector<double>>;
  struct StoredColumn {
    std::string name, unit, definition;
    Values values;
    std::function<double()> measure;  // null: the row has it
    [[nodiscard]] std::int64_t size() const;
  };
  struct Group {
    std::string name, description;
    bool may_be_absent;
    std::vector<StoredColumn> columns;
  };

  void declare(Group group);
  void extend(const std::string& group, const MeasuredColumn& column);
  static std::vector<StoredColumn> read_columns(const Hdf5Reader& file, const Group& group);
  [[nodiscard]] const Group& group(const std::string& name) const;
  [[nodiscard]] Group& group(const std::string& name);

  std::vector<Group> groups_;
};

template <class Row>
void History::declare() {
  Group added{Row::group.name, Row::group.description, Row::group.may_be_absent, {}};
  for (const Column<Row>& column : Row::group.columns) {
    const bool whole = std::holds_alternative<std::int64_t Row::*>(column.member);
    added.columns.push_back({column.name, column.unit, column.definition,
                             whole ? Values(std::vector<std::int64_t>()) : std::vector<double>(),
                             nullptr});
  }
  declare(std::move(added));
}

template <class Row>
void History::append(const Row& row) {
  std::vector<StoredColumn>& columns = group(Row::group.name).columns;
  const std::size_t own = Row::group.columns.size();
  std::vector<double> measured;  // before anything is added: a row is added whole or not at all
  for (std::size_t i = own; i < columns.size(); ++i) measured.push_back(columns[i].measure());
  const auto add = [&](std::size_t i, auto value) {
    std::get<std::vector<decltype(value)>>(columns[i].values).push_back(value);
  };
  for (std::size_t i = 0; i < own; ++i) {
    std::visit([&](auto member) { add(i, std::invoke(member, row)); },
               Row::group.columns[i].member);
  }
  for (std::size_t i = own; i < columns.size(); ++i) add(i, measured[i - own]);
}

template <class Row, class T>
const std::vector<T>& History::values(T Row::*member) const {
  std::size_t i = 0;
  while (Row::group.columns.at(i).member != decltype(Column<Row>::member)(member)) ++i;
  return std::get<std::vector<T>>(group(Row::group.name).columns[i].values);
}

}  // namespace lexikos
