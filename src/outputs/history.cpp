#include "outputs/history.hpp"

#include <algorithm>
#include <limits>

#include "utils/error.hpp"

namespace lexikos {
namespace {

/// The names of a list of groups or columns, as a sentence has them.
std::string names_of(const auto& list) {
  std::string names;
  for (const auto& one : list) names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

bool has_name(const auto& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
}

constexpr const char* same_deck = "; restart with the deck it was made with";

}  // namespace

std::int64_t History::StoredColumn::size() const {
  return std::visit([](const auto& v) { return static_cast<std::int64_t>(v.size()); }, values);
}

const History::Group& History::group(const std::string& name) const {
  for (const Group& group : groups_) {
    if (group.name == name) return group;
  }
  fail(Status::file, "there is no history group '" + name + "'; there are: " + names_of(groups_));
}

History::Group& History::group(const std::string& name) {
  return const_cast<Group&>(static_cast<const History*>(this)->group(name));
}

void History::declare(Group added) {
  if (has_name(groups_, added.name)) {
    fail(Status::file, "history group '" + added.name + "' is declared twice");
  }
  groups_.push_back(std::move(added));
}

void History::extend(const std::string& name, const MeasuredColumn& column) {
  Group& target = group(name);
  if (has_name(target.columns, column.name)) {
    fail(Status::file, "history column '" + column.name + "' is declared twice in " + name);
  }
  if (rows(name) > 0) {
    fail(Status::file, "history column '" + column.name + "' comes after the first row of " + name);
  }
  target.columns.push_back(
      {column.name, column.unit, column.definition, std::vector<double>(), column.measure});
}

const std::vector<double>& History::values(const std::string& name,
                                           const std::string& column) const {
  const Group& target = group(name);
  for (const StoredColumn& c : target.columns) {
    if (c.name == column) return std::get<std::vector<double>>(c.values);
  }
  fail(Status::file, "there is no history column '" + column + "' in " + name +
                         "; there are: " + names_of(target.columns));
}

std::int64_t History::rows(const std::string& name) const {
  return group(name).columns.front().size();
}

void History::truncate_after(std::int64_t step) {
  for (Group& target : groups_) {
    const auto has_step = [](const StoredColumn& column) { return column.name == "step"; };
    const auto steps =
        std::get<0>(std::find_if(target.columns.begin(), target.columns.end(), has_step)->values);
    for (StoredColumn& column : target.columns) {
      std::visit(
          [&](auto& values) {
            std::size_t kept = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
              if (steps[i] <= step) values[kept++] = values[i];
            }
            values.resize(kept);
          },
          column.values);
    }
  }
}

void History::write_groups(Hdf5Writer& file) const {
  for (const Group& target : groups_) {
    file.create_group("/" + target.name);
    file.set_attribute("/" + target.name, "description", target.description);
    for (const StoredColumn& column : target.columns) {
      const std::string dataset = "/" + target.name + "/" + column.name;
      std::visit([&](const auto& values) { file.write_extendable(dataset, values); },
                 column.values);
      file.set_attribute(dataset, "unit", column.unit);
      file.set_attribute(dataset, "definition", column.definition);
    }
  }
}

void History::write(const std::string& path, const FileFormat& format,
                    const Attributes& attributes) const {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", format.name).set("format_version", format.version);
  file.set_attributes("/", root.add_missing(attributes));
  write_groups(file);
  file.commit();
}

/// The columns of a group with the rows that a file has of them.
std::vector<History::StoredColumn> History::read_columns(const Hdf5Reader& file,
                                                         const Group& target) {
  const std::string of_group = "of /" + target.name;
  const auto refuse = [&](const std::string& why) {
    fail(Status::file, "cannot read '" + file.path() + "': " + why);
  };
  std::vector<StoredColumn> columns = target.columns;
  for (const std::string& name : file.members("/" + target.name)) {
    if (!has_name(columns, name)) {
      refuse("its /" + target.name + " has a column '" + name + "' that this run does not" +
             same_deck);
    }
  }
  const std::int64_t rows = file.info("/" + target.name + "/step").size();
  for (StoredColumn& column : columns) {
    const std::string dataset = "/" + target.name + "/" + column.name;
    const bool whole = column.values.index() == 0;
    if (!file.has(dataset)) {
      if (whole) refuse("its /" + target.name + " has no column '" + column.name + "'" + same_deck);
      column.values = std::vector<double>(static_cast<std::size_t>(rows),
                                          std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    if (whole == (file.info(dataset).kind == DatasetInfo::Kind::real)) {
      refuse("column '" + column.name + "' " + of_group + " has another type" + same_deck);
    }
    std::visit([&]<class T>(std::vector<T>& values) { values = file.read_list<T>(dataset); },
               column.values);
    if (column.size() != rows) {
      refuse("column '" + column.name + "' " + of_group + " has " + std::to_string(column.size()) +
             " rows and 'step' has " + std::to_string(rows) + "; the file is damaged");
    }
  }
  return columns;
}

void History::read_rows(const Hdf5Reader& file) {
  std::vector<Group> read = groups_;
  for (Group& target : read) {
    if (target.may_be_absent && !file.has("/" + target.name)) {
      for (StoredColumn& column : target.columns) {
        std::visit([](auto& values) { values.clear(); }, column.values);
      }
    } else {
      target.columns = read_columns(file, target);
    }
  }
  groups_ = std::move(read);
}

}  // namespace lexikos
