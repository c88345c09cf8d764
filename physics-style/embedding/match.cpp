#include "embedding/match.hpp"

#include "utils/error.hpp"

namespace lexikos {

MatchedSize MatchedSize::read(const DeckTable& table, const std::string& key,
                              const std::string& doc) {
  MatchedSize size;
  size.given =
      table.integer({.name = key, .doc = doc, .default_note = "0: as many parameters as lev has"},
                    0, Between(0, 1 << 24));
  size.statement = table.statement(key);
  return size;
}

Index MatchedSize::target(const ModelShape& shape) const {
  if (given > 0) return 0;
  return lev::parameter_count(lev, lev::base_of(lev, shape.vocabulary), shape.width);
}

Index MatchedSize::size(const ModelShape& shape, Index fixed, Index per_unit) const {
  if (given > 0) return given;
  const Index wanted = target(shape), nearest = (wanted - fixed + per_unit / 2) / per_unit;
  if (wanted <= fixed || nearest < 1) {
    fail(Status::deck, statement + " cannot match lev's " + std::to_string(wanted) +
                           " parameters: one unit needs " + std::to_string(fixed + per_unit) +
                           "; set it");
  }
  return nearest;
}

}  // namespace lexikos
