#include "jobs/sample/generator.hpp"

#include <algorithm>

namespace lexikos {

template <class S>
Generator<S>::Generator(Model<S>& model, Index texts)
    : model_(model),
      texts_(texts),
      ids_(without_initializing("Lexikos::generator::ids"), std::max(texts, model.shape().context)),
      rows_(without_initializing("Lexikos::generator::logits"), texts * model.shape().vocabulary),
      host_("Lexikos::generator::host_logits", texts * model.shape().vocabulary) {}

template <class S>
View1<const TokenId> Generator<S>::to_device(const std::vector<TokenId>& ids) const {
  using HostIds = Kokkos::View<const TokenId*, Kokkos::HostSpace, Window>;
  const View1<TokenId> device(ids_.data(), ids.size());
  Kokkos::deep_copy(device, HostIds(ids.data(), ids.size()));
  return device;
}

template <class S>
void Generator<S>::begin(const std::vector<TokenId>& prompt) {
  const ExecSpace space;
  const Index vocabulary = model_.shape().vocabulary;
  model_.prefill(space, to_device(prompt), texts_);
  places_ = static_cast<Index>(prompt.size());
  same_ = true;
  model_.logits(space, places_ - 1, View2<S>(rows_.data(), 1, vocabulary));
  space.fence();
  Kokkos::deep_copy(Kokkos::subview(host_, std::make_pair(Index{0}, vocabulary)),
                    View1<const S>(rows_.data(), vocabulary));
}

template <class S>
void Generator<S>::append(const std::vector<TokenId>& ids) {
  const ExecSpace space;
  model_.decode(space, to_device(ids), places_);
  model_.logits(space, 0, View2<S>(rows_.data(), texts_, model_.shape().vocabulary));
  ++places_;
  same_ = false;
  space.fence();
  Kokkos::deep_copy(host_, rows_);
}

template <class S>
const S* Generator<S>::logits(Index text) const {
  return host_pointer(host_) + (same_ ? 0 : text * model_.shape().vocabulary);
}

template <class S>
std::vector<S> Generator<S>::prompt_logits() const {
  const ExecSpace space;
  const Index vocabulary = model_.shape().vocabulary;
  std::vector<S> all(static_cast<std::size_t>(places_ * vocabulary));
  const Buffer<S> row(without_initializing("Lexikos::generator::prompt_logits"), vocabulary);
  using HostRow = Kokkos::View<S*, Kokkos::HostSpace, Window>;
  for (Index place = 0; place < places_; ++place) {
    model_.logits(space, place, View2<S>(row.data(), 1, vocabulary));
    space.fence();
    Kokkos::deep_copy(HostRow(all.data() + place * vocabulary, vocabulary), row);
  }
  return all;
}

template class Generator<float>;
template class Generator<double>;

}  // namespace lexikos
