// AdamW on flat arenas, with the gradient's global norm and clipping.
// Source: Loshchilov and Hutter, "Decoupled weight decay regularization" (2019), algorithm 2.
#pragma once

#include "deck/deck.hpp"
#include "state/parameters.hpp"

namespace lexikos {

struct AdamWSettings {
  double beta1, beta2, epsilon, weight_decay;
  double clip_norm;  // 0 leaves gradients as they are
  static AdamWSettings read(const Deck& deck);
};

/// result = square of the gradient's norm over all parameters, summed in double.
template <class S>
void squared_norm(const ExecSpace& space, View1<const S> gradients, const DeviceSum& result);

/// How many elements are NaN or infinite. Waits for the device.
template <class S>
Index count_not_finite(const ExecSpace& space, View1<const S> values);

/// One update of every element in parameters.moment_range(), all of them unless the moments are
/// shared out; fused into one pass over the arenas. The others are left as they are.
/// `step` counts from 1; `scale` multiplies the gradient first (clipping).
/// Overwrites values and both moments; reads gradients.
template <class S>
void adamw_update(const ExecSpace& space, const AdamWSettings& settings, double learning_rate,
                  Index step, double scale, const Parameters<S>& parameters);

/// Factor that brings a gradient of this norm down to the clip norm; 1 when it is below.
double clip_scale(const AdamWSettings& settings, double norm);

}  // namespace lexikos
