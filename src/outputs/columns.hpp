// Columns: a row of numbers is a struct, and beside it, where its numbers are made, stands what
// each of them is called and means.
//
//   struct ValidationRow {
//     std::int64_t step = 0;
//     double loss = 0;
//     static const RowGroup<ValidationRow> group;
//   };
//   const RowGroup<ValidationRow> ValidationRow::group = {
//       "validation",
//       "one row an evaluation",
//       {{"step", "1", "steps done", &ValidationRow::step},
//        {"loss", "nats per token", "mean over the targets", &ValidationRow::loss}}};
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace lexikos {

/// One number of a row: its name in files, its unit ("1" where there is none), what it is in one
/// sentence, and the member of the row, variable or function, that gives it.
template <class Row>
struct Column {
  std::string name, unit, definition;
  std::variant<std::int64_t Row::*, double Row::*, double (Row::*)() const> member;
};

/// The rows of one kind, in the order of their columns. One member must be `step`, the steps done.
template <class Row>
struct RowGroup {
  std::string name, description;
  std::vector<Column<Row>> columns;
  bool may_be_absent = false;  ///< from files, which then have no rows of it: older ones
};

/// A number that is asked for whenever a row is added to the group that it extends: what a package
/// brings (package.hpp).
struct MeasuredColumn {
  std::string name, unit, definition;
  std::function<double()> measure;
};

}  // namespace lexikos
