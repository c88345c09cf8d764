#include "outputs/history.hpp"

#include <algorithm>
#include <limits>

#include "utils/error.hpp"

namespace lexikos {

namespace {

constexpr const char* format = "lexikos-history";

// Format version 1 did not have these groups.
bool may_be_absent(const std::string& group) { return group == "frequency" || group == "geometry"; }

HistoryColumn make_column(const std::string& name, bool whole, const std::string& unit,
                          const std::string& definition) {
  HistoryColumn column{name, unit, definition, {}};
  if (!whole) column.values = std::vector<double>();
  return column;
}

// The column of a file, checked against nothing.
HistoryColumn stored_column(const Hdf5Reader& file, const std::string& group,
                            const std::string& name) {
  const std::string dataset = "/" + group + "/" + name;
  HistoryColumn column{name, file.text(dataset, "unit"), file.text(dataset, "definition"), {}};
  if (file.info(dataset).kind == DatasetInfo::Kind::real) {
    column.values = file.read<double>(dataset);
  } else {
    column.values = file.read<std::int64_t>(dataset);
  }
  return column;
}

void check_lengths(const std::vector<HistoryColumn>& columns, const std::string& path,
                   const std::string& group) {
  for (const HistoryColumn& column : columns) {
    if (column.size() != columns.front().size()) {
      fail(Status::file, "cannot read '" + path + "': column '" + column.name + "' of /" + group +
                             " has " + std::to_string(column.size()) + " rows and '" +
                             columns.front().name + "' has " +
                             std::to_string(columns.front().size()) + "; the file is damaged");
    }
  }
}

}  // namespace

std::int64_t HistoryColumn::size() const {
  return std::visit([](const auto& v) { return static_cast<std::int64_t>(v.size()); }, values);
}

History::History() {
  groups_.push_back({"history", "one row a recorded training step", {}});
  groups_.push_back({"validation", "one row an evaluation on the validation tokens", {}});
  groups_.push_back({"frequency", "one row a bin of token frequency in each evaluation", {}});
  groups_.push_back({"geometry", "one row a matrix each time its cosines were measured", {}});
  const char* step = "steps of the optimiser done when the row was written";
  const char* tokens = "target tokens trained on up to this step, all ranks";

  add_column("history", "step", Type::whole, "1", step);
  add_column("history", "tokens", Type::whole, "tokens", tokens);
  add_column("history", "train_loss", Type::real, "nats per token",
             "cross entropy of this step's batch before the update, summed over its targets and "
             "divided by their number");
  add_column("history", "learning_rate", Type::real, "1", "learning rate of this step's update");
  add_column("history", "gradient_norm", Type::real, "1",
             "Euclidean norm of the whole gradient before clipping");
  add_column(
      "history", "seconds", Type::real, "s",
      "wall time of training up to this step, over all restarts, without evaluation and output");
  add_column("history", "tokens_per_second", Type::real, "tokens/s",
             "target tokens of all ranks over wall time, since the row before");
  add_column("history", "data_seconds", Type::real, "s",
             "part of this step's wall time until every rank had its batch on its device");

  add_column("validation", "step", Type::whole, "1", step);
  add_column("validation", "tokens", Type::whole, "tokens", tokens);
  add_column("validation", "loss", Type::real, "nats per token",
             "cross entropy summed over the validation targets and divided by their number");
  add_column("validation", "perplexity", Type::real, "1", "exp(loss), per token");
  add_column("validation", "targets", Type::whole, "tokens", "number of targets that were scored");

  add_column("frequency", "step", Type::whole, "1", step);
  add_column("frequency", "tokens", Type::whole, "tokens", tokens);
  add_column("frequency", "lower", Type::real, "1",
             "the bin holds the ids whose relative frequency in the training tokens is at least "
             "this and below `upper`");
  add_column("frequency", "upper", Type::real, "1", "end of the bin, infinite for the last");
  add_column("frequency", "ids", Type::whole, "1", "ids of the vocabulary in this bin");
  add_column("frequency", "targets", Type::whole, "tokens",
             "validation targets whose id is in this bin");
  add_column("frequency", "loss", Type::real, "nats per token",
             "cross entropy summed over these targets and divided by their number");
  add_column("frequency", "perplexity", Type::real, "1", "exp(loss), per token of this bin");

  add_column("geometry", "step", Type::whole, "1", step);
  add_column("geometry", "tokens", Type::whole, "tokens", tokens);
  add_column("geometry", "matrix", Type::whole, "1",
             "0: the input matrix, one row a token; 1: the head's");
  add_column("geometry", "mu", Type::real, "1", "mean of the cosines of all pairs of rows");
  add_column("geometry", "sigma", Type::real, "1", "their standard deviation");
  add_column("geometry", "epsilon", Type::real, "1", "mu + 2 sigma");
  add_column("geometry", "epsilon_centred", Type::real, "1",
             "the same of the rows less their mean");
}

const History::Group& History::group(const std::string& name) const {
  const std::string wanted = !name.empty() && name[0] == '/' ? name.substr(1) : name;
  for (const Group& group : groups_) {
    if (group.name == wanted) return group;
  }
  fail(Status::file, "there is no history group '" + name +
                         "'; it is 'history', 'validation', 'frequency' or 'geometry'");
}

History::Group& History::group(const std::string& name) {
  return const_cast<Group&>(static_cast<const History*>(this)->group(name));
}

void History::add_column(const std::string& group_name, const std::string& name, Type type,
                         const std::string& unit, const std::string& definition) {
  Group& target = group(group_name);
  for (const HistoryColumn& column : target.columns) {
    if (column.name == name) {
      fail(Status::file, "history column '" + name + "' is declared twice in " + target.name);
    }
  }
  if (!target.columns.empty() && target.columns.front().size() > 0) {
    fail(Status::file, "history column '" + name + "' comes after the first row of " + target.name);
  }
  target.columns.push_back(make_column(name, type == Type::whole, unit, definition));
}

void History::append(const std::string& group_name, const std::vector<HistoryValue>& row) {
  Group& target = group(group_name);
  if (row.size() != target.columns.size()) {
    fail(Status::file, "a row of " + target.name + " has " + std::to_string(target.columns.size()) +
                           " columns and " + std::to_string(row.size()) + " values were given");
  }
  // All checks first: a row is added whole or not at all.
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (target.columns[i].whole() && row[i].index() != 0) {
      fail(Status::file, "history column '" + target.columns[i].name + "' holds whole numbers");
    }
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (auto* whole = std::get_if<0>(&target.columns[i].values)) {
      whole->push_back(std::get<0>(row[i]));
    } else {
      std::get<1>(target.columns[i].values)
          .push_back(std::visit([](auto value) { return static_cast<double>(value); }, row[i]));
    }
  }
}

const std::vector<HistoryColumn>& History::columns(const std::string& group_name) const {
  return group(group_name).columns;
}

const HistoryColumn& History::column(const std::string& group_name, const std::string& name) const {
  std::string known;
  for (const HistoryColumn& column : columns(group_name)) {
    if (column.name == name) return column;
    known += (known.empty() ? "" : ", ") + column.name;
  }
  fail(Status::file, "there is no history column '" + name + "'; there are " + known);
}

std::int64_t History::rows(const std::string& group_name) const {
  const Group& target = group(group_name);
  return target.columns.empty() ? 0 : target.columns.front().size();
}

void History::truncate_after(std::int64_t step) {
  for (Group& target : groups_) {
    const auto& steps = std::get<0>(column(target.name, "step").values);
    std::vector<bool> keep(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) keep[i] = steps[i] <= step;
    for (HistoryColumn& column : target.columns) {
      std::visit(
          [&](auto& values) {
            std::size_t kept = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
              if (keep[i]) values[kept++] = values[i];
            }
            values.resize(kept);
          },
          column.values);
    }
  }
}

void History::write_group(Hdf5Writer& file, const Group& target) {
  file.create_group("/" + target.name);
  file.set_attribute("/" + target.name, "description", target.description);
  for (const HistoryColumn& column : target.columns) {
    const std::string dataset = "/" + target.name + "/" + column.name;
    std::visit([&](const auto& values) { file.write_extendable(dataset, values); }, column.values);
    file.set_attribute(dataset, "unit", column.unit);
    file.set_attribute(dataset, "definition", column.definition);
  }
}

void History::write_groups(Hdf5Writer& file) const {
  for (const Group& target : groups_) write_group(file, target);
}

void History::write(const std::string& path, const Attributes& attributes) const {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", format).set("format_version", history_format_version);
  file.set_attributes("/", root.add_missing(attributes));
  write_groups(file);
  file.commit();
}

void History::write_evaluation(const std::string& path, const Attributes& attributes) const {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", "lexikos-evaluation").set("format_version", evaluation_format_version);
  file.set_attributes("/", root.add_missing(attributes));
  write_group(file, group("validation"));
  write_group(file, group("frequency"));
  file.commit();
}

void History::read_rows(const Hdf5Reader& file) {
  const std::string start = "cannot read '" + file.path() + "': ";
  std::vector<Group> read = groups_;
  for (Group& target : read) {
    if (!file.has("/" + target.name) && may_be_absent(target.name)) {
      for (HistoryColumn& column : target.columns) {
        std::visit([](auto& values) { values.clear(); }, column.values);
      }
      continue;
    }
    const std::vector<std::string> stored = file.members("/" + target.name);
    for (const std::string& name : stored) {
      const auto same = [&](const HistoryColumn& column) { return column.name == name; };
      if (std::none_of(target.columns.begin(), target.columns.end(), same)) {
        fail(Status::file, start + "its /" + target.name + " has a column '" + name +
                               "' that this run does not; restart with the deck it was made with");
      }
    }
    const std::int64_t rows = file.info("/" + target.name + "/step").size();
    for (HistoryColumn& column : target.columns) {
      if (std::find(stored.begin(), stored.end(), column.name) == stored.end()) {
        if (column.whole()) {
          fail(Status::file, start + "its /" + target.name + " has no column '" + column.name +
                                 "'; restart with the deck it was made with");
        }
        column.values = std::vector<double>(static_cast<std::size_t>(rows),
                                            std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      HistoryColumn found = stored_column(file, target.name, column.name);
      if (found.whole() != column.whole()) {
        fail(Status::file, start + "column '" + column.name + "' of /" + target.name +
                               " has another type; restart with the deck it was made with");
      }
      column.values = std::move(found.values);
    }
    check_lengths(target.columns, file.path(), target.name);
  }
  groups_ = std::move(read);
}

History History::read(const std::string& path, Attributes* attributes) {
  const Hdf5Reader file(path, "give a history.h5");
  file.require_format(format, history_format_version);
  if (attributes != nullptr) *attributes = file.attributes("/");
  History history;
  for (Group& target : history.groups_) {
    if (!file.has("/" + target.name) && may_be_absent(target.name)) continue;
    target.columns.clear();
    for (const std::string& name : file.members("/" + target.name)) {
      target.columns.push_back(stored_column(file, target.name, name));
    }
    check_lengths(target.columns, path, target.name);
  }
  return history;
}

}  // namespace lexikos
