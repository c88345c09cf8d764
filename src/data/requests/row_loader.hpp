// Rows of requests on the device: what the model reads, and which positions are scored.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batches/model_input.hpp"
#include "data/requests/request_rows.hpp"
#include "kokkos_types.hpp"

namespace lexikos {

/// Some rows of T positions. The views are windows on the loader's memory.
struct RowBatch {
  View1<const TokenId> distinct;       ///< [U] the distinct tokens, ascending
  ModelInput input;                    ///< its slots are rows in distinct
  View1<const std::int32_t> position;  ///< [K] of each target: where it is predicted
  View1<const TokenId> target;         ///< [K]
  std::vector<Index> request;          ///< [K] on the host: whose target it is
};

/// Builds batches of rows. One host buffer, one device buffer, one transfer a batch.
class RowLoader {
 public:
  /// Batches of at most `most` rows. Every id must be below V (Requests::check_ids). All arguments
  /// must outlive the loader.
  RowLoader(const Requests& requests, const std::vector<Bundle>& bundles,
            const std::vector<std::vector<Index>>& rows, Index T, Index V, Index most);

  /// Rows [begin, begin + count), count <= most, on the device when this returns; valid until the
  /// next call. Waits for kernels that still read the last batch.
  const RowBatch& load(Index begin, Index count);

 private:
  void fill_row(Index row, Index first);
  void place(const Stretch& stretch, Index first, Index at, Index trunk_begin, Index trunk_end,
             Index position);
  Index find_distinct(Index positions);

  std::int32_t* staged(Index list) {
    return reinterpret_cast<std::int32_t*>(host_pointer(staging_) + list * most_positions_);
  }

  const Requests& requests_;
  const std::vector<Bundle>& bundles_;
  const std::vector<std::vector<Index>>& rows_;
  Index T_, most_positions_;
  HostBuffer<std::uint32_t> staging_;
  Buffer<std::uint32_t> device_;
  std::vector<TokenId> ids_;          // [positions]
  std::vector<std::int32_t> row_of_;  // [V] id -> row in distinct, valid where present
  RowBatch batch_;
};

}  // namespace lexikos
