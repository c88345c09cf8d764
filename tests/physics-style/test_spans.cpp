// Attention and whole models where a sequence holds several texts: documents, or one context that
// several continuations share.
#include "harness/attention_bounds.hpp"
#include "harness/catch.hpp"
#include "harness/model_fixture.hpp"

using namespace lexikos;
using namespace lexikos::test;
using reference::HeadArrays;

namespace {

/// Spans on the host; memory on the device.
struct HostSpans {
  std::vector<std::int32_t> position, shared_begin, shared_end, own_begin;

  void add(Index at, Index begin, Index end, Index own) {
    position.push_back(static_cast<std::int32_t>(at));
    shared_begin.push_back(static_cast<std::int32_t>(begin));
    shared_end.push_back(static_cast<std::int32_t>(end));
    own_begin.push_back(static_cast<std::int32_t>(own));
  }
  bool sees(Index n, Index j) const {
    return j >= own_begin[n] || (j >= shared_begin[n] && j < shared_end[n]);
  }
};

struct DeviceSpans {
  Device<std::int32_t> position, shared_begin, shared_end, own_begin;
  explicit DeviceSpans(const HostSpans& host)
      : position(host.position),
        shared_begin(host.shared_begin),
        shared_end(host.shared_end),
        own_begin(host.own_begin) {}
  Spans spans() const {
    return {position.view(), shared_begin.view(), shared_end.view(), own_begin.view()};
  }
};

/// One text: a context, then continuations of it; lengths.
struct Text {
  Index context;
  std::vector<Index> continuations;
};

/// Lays texts one after the other into a sequence.
HostSpans lay(const std::vector<Text>& texts) {
  HostSpans spans;
  Index at = 0;
  for (const Text& text : texts) {
    const Index begin = at;
    for (Index i = 0; i < text.context; ++i) spans.add(i, begin, begin, begin);
    at += text.context;
    for (const Index length : text.continuations) {
      for (Index i = 0; i < length; ++i) {
        spans.add(text.context + i, begin, begin + text.context, at);
      }
      at += length;
    }
  }
  return spans;
}

HostSpans joined(HostSpans a, const HostSpans& b) {
  for (const auto part : {&HostSpans::position, &HostSpans::shared_begin, &HostSpans::shared_end,
                          &HostSpans::own_begin}) {
    (a.*part).insert((a.*part).end(), (b.*part).begin(), (b.*part).end());
  }
  return a;
}

struct Found {
  Doubles o;
  HeadArrays d;
};

template <class S>
Found attend(const HeadArrays& x, const Doubles& dout, const Sight& sight, Index b, Index heads,
             Index t, Index width) {
  const Index size = b * heads * t * width;
  const auto unset = [](Index count) { return Device<S>(Doubles(count, not_a_number)); };
  const Device<S> q(x.q), k(x.k), v(x.v), dout_d(dout),
      o = unset(size), lse = unset(b * heads * t), dq = unset(size), dk = unset(size),
      dv = unset(size), work = unset(attention::forward_workspace<S>(b * heads, t, width)),
      work_b = unset(attention::backward_workspace<S>(b * heads, t, width));
  const auto in = [&](const Device<S>& a) { return a.view(b, heads, t, width); };
  const auto flat = [&](const Device<S>& a) { return a.view(b * t, heads * width); };
  const ExecSpace space;
  attention::forward<S>(space, sight, in(q), in(k), in(v), flat(o), lse.view(b, heads, t),
                        work.view());
  attention::backward<S>(space, sight, flat(dout_d), in(q), in(k), in(v), flat(o),
                         lse.view(b, heads, t), in(dq), in(dk), in(dv), work_b.view());
  space.fence();
  return {o.values(), {dq.values(), dk.values(), dv.values()}};
}

/// Largest error over its bound.
double error_over(const AttentionBounds& bounds, const Found& found,
                  const reference::Attention& exact, const HeadArrays& d) {
  return std::max(
      {absolute_error(found.o, exact.o) / bounds.o, absolute_error(found.d.q, d.q) / bounds.q,
       absolute_error(found.d.k, d.k) / bounds.k, absolute_error(found.d.v, d.v) / bounds.v});
}

}  // namespace

TEST_CASE("attention sees what spans say, and its gradients as well", "[spans][attention]") {
  // Edges on, before and after those of tiles of 128; a tile in which a query sees nothing.
  const Index b = 2, heads = 2, t = 300, width = 6;
  const HostSpans host = joined(lay({{128, {1, 60}}, {3, {70, 38}}}),
                                lay({{1, {}}, {100, {}}, {20, {5, 140, 33}}, {1, {}}}));
  REQUIRE(static_cast<Index>(host.own_begin.size()) == b * t);
  const reference::Sees sees = [&](Index row, Index i, Index j) {
    return host.sees(row * t + i, j);
  };
  Random random(5);
  const Index size = b * heads * t * width;
  const HeadArrays x{rounded<float>(random.normals(size)), rounded<float>(random.normals(size)),
                     rounded<float>(random.normals(size))};
  const Doubles dout = rounded<float>(random.normals(size));
  const auto expected = reference::attention(x.q, x.k, x.v, b, heads, t, width, sees);
  const HeadArrays d =
      reference::attention_gradient(dout, x.q, x.k, x.v, expected.p, b, heads, t, width);
  const DeviceSpans spans(host);
  const Found found = attend<double>(x, dout, spans.spans(), b, heads, t, width);
  CHECK(error_over(attention_bounds<double>(x, dout, expected, width), found, expected, d) < 1);
  const Found single = attend<float>(x, dout, spans.spans(), b, heads, t, width);
  CHECK(error_over(attention_bounds<float>(x, dout, expected, width), single, expected, d) < 1);

  // Plain spans are one document a sequence.
  const DeviceSpans one(joined(lay({{t, {}}}), lay({{t, {}}})));
  const Found plain = attend<double>(x, dout, Spans(), b, heads, t, width),
              whole = attend<double>(x, dout, one.spans(), b, heads, t, width);
  CHECK(plain.o == whole.o);
  CHECK(plain.d.q == whole.d.q);
  CHECK(plain.d.k == whole.d.k);
  CHECK(plain.d.v == whole.d.v);
}

TEST_CASE("of what spans show attention sees the last W positions", "[spans][window][attention]") {
  const Index b = 2, heads = 2, t = 300, width = 6, size = b * heads * t * width;
  Random random(6);
  const HeadArrays x{rounded<float>(random.normals(size)), rounded<float>(random.normals(size)),
                     rounded<float>(random.normals(size))};
  const Doubles dout = rounded<float>(random.normals(size));
  const HostSpans plain = joined(lay({{t, {}}}), lay({{t, {}}})),
                  documents =
                      joined(lay({{128, {}}, {3, {}}, {169, {}}}), lay({{299, {}}, {1, {}}})),
                  shared = joined(lay({{128, {1, 60}}, {3, {70, 38}}}),
                                  lay({{1, {}}, {100, {}}, {20, {5, 140, 33}}, {1, {}}}));
  for (const HostSpans* host : {&plain, &documents, &shared}) {
    const DeviceSpans device(*host);
    Spans spans = host == &plain ? Spans() : device.spans();
    spans.documents_only = host == &documents;
    // One key; inside a tile; its edges; all but one; more than there are.
    for (const Index window : {1, 7, 127, 128, 129, 299, 1000}) {
      CAPTURE(window, host == &documents, host == &shared);
      const reference::Sees sees = [&](Index row, Index i, Index j) {
        const Index query = row * t + i, key = row * t + j;
        return host->sees(query, j) && host->position[key] > host->position[query] - window;
      };
      const auto expected = reference::attention(x.q, x.k, x.v, b, heads, t, width, sees);
      const HeadArrays d =
          reference::attention_gradient(dout, x.q, x.k, x.v, expected.p, b, heads, t, width);
      const Found found = attend<double>(x, dout, {spans, window}, b, heads, t, width);
      CHECK(error_over(attention_bounds<double>(x, dout, expected, width), found, expected, d) < 1);
      const Found single = attend<float>(x, dout, {spans, window}, b, heads, t, width);
      CHECK(error_over(attention_bounds<float>(x, dout, expected, width), single, expected, d) < 1);
    }
  }
}

TEST_CASE("a window's keys on average are what mean_keys says", "[window][attention]") {
  for (const Index t : {1, 5, 300}) {
    for (const Index window : {0, 1, 4, 5, 6, 400}) {
      double keys = 0;
      for (Index query = 0; query < t; ++query) {
        keys += double(window > 0 ? std::min(window, query + 1) : query + 1);
      }
      CHECK(attention::mean_keys(t, window) == Approx(keys / double(t)));
    }
  }
}

namespace {

/// Logits [sequences T, V] of the windows of `ids` (T + 1 tokens each, the last shared).
Doubles logits_of(const std::vector<TokenId>& ids, Index sequences, Index t, Index vocabulary,
                  const Spans& spans) {
  const std::string deck = deck_text(
      "untied", "layers = 2\nwidth = 8\nheads = 2\nmlp_width = 12\ncontext = " + std::to_string(t) +
                    "\ninit_deviation = 0.3\n");
  Setup<double> setup(deck, vocabulary, ids, sequences, sequences, 3);
  StepBatch batch = setup.batch();
  REQUIRE(batch.micro.size() == 1);
  batch.micro[0].input.spans = spans;
  const SumOnDevice sum;
  const ExecSpace space;
  setup.model.evaluate(space, batch, sum.sum());
  const Device<double> out(sequences * t * vocabulary);
  setup.model.logits(space, 0, out.view(sequences * t, vocabulary));
  space.fence();
  return out.values();
}

}  // namespace

TEST_CASE("continuations of a shared context have the logits of whole texts", "[spans][model]") {
  const Index v = 11;
  Random random(2);
  const std::vector<TokenId> context = random.tokens(5, v), first = random.tokens(3, v),
                             second = random.tokens(4, v);
  std::vector<TokenId> row = random.tokens(2, v);  // another text before them
  for (const auto* part : {&context, &first, &second}) {
    row.insert(row.end(), part->begin(), part->end());
  }
  const Index t = static_cast<Index>(row.size());
  row.push_back(0);
  const DeviceSpans spans(lay({{2, {}}, {5, {3, 4}}}));
  const Doubles packed = logits_of(row, 1, t, v, spans.spans());

  const auto alone = [&](const std::vector<TokenId>& continuation) {
    std::vector<TokenId> text = context;
    text.insert(text.end(), continuation.begin(), continuation.end());
    const Index length = static_cast<Index>(text.size());
    text.push_back(0);
    return logits_of(text, 1, length, v, Spans());
  };
  const auto rows = [&](const Doubles& all, Index begin, Index count) {
    return Doubles(all.begin() + begin * v, all.begin() + (begin + count) * v);
  };
  const Doubles with_first = alone(first), with_second = alone(second);
  const double limit = rounding_of_sums<double>(terms_to_logits(2, 8, 4, t, 12), 1);
  CHECK(relative_error(rows(packed, 2, 5), rows(with_first, 0, 5)) < limit);
  CHECK(relative_error(rows(packed, 7, 3), rows(with_first, 5, 3)) < limit);
  CHECK(relative_error(rows(packed, 10, 4), rows(with_second, 5, 4)) < limit);
  // Without spans they are others: the check above can fail.
  const Doubles mixed = logits_of(row, 1, t, v, Spans());
  CHECK(relative_error(rows(mixed, 10, 4), rows(with_second, 5, 4)) > 1e-3);
}
