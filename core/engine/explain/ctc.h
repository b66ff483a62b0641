// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/target.h"
#include "core/execute/boundmodel.h"

#include <cstdint>
#include <optional>
#include <string>

namespace retro::engine
{

/// How scores of CTC are read: a class for each time step, one of which is the blank.
struct CtcReading
{
    bool isTimeFirst = false; ///< time × samples × classes; else samples × time × classes
    std::int64_t steps = 0;
    std::int64_t classes = 0;
    std::int64_t blank = -1;    ///< its class; −1 = not known
    std::int64_t blankWins = 0; ///< time steps at which it is the best class
    bool isSure = false;        ///< the graph says so; else it only looks like it
};

/// Whether three axes of scores, `known` of `value`, are those of CTC. The graph says so where a linear layer makes
/// them behind recurrent layers or convolutions along time, no tokens are read, and one of these holds: names say CTC,
/// time comes first (axis 1 has the extent of the samples of the inputs), a LogSoftmax over the classes ends it, or
/// both kinds of layers are there with many classes and steps. The blank is class 0, or the last one where that wins at
/// half of the steps and more often; it is known where names, the LogSoftmax, both kinds of layers or that say so. None
/// where nothing of that is there, or time comes first and there are several samples. What only looks like it has a
/// blank that wins at half of the steps, and is no sure reading.
[[nodiscard]] std::optional<CtcReading> ctcReading(const execute::BoundModel& model, base::ValueId value,
                                                   const tensor::Tensor& known);

/// True for the place of a target (ResolvedTarget::place) whose first axis is time.
[[nodiscard]] bool isStepOfTime(const ResolvedTarget& target, std::size_t step);

/// Whether a reading changes what a request means: it is sure, and the request names no value, no axis by its number or
/// as `sample`, and no whole start.
[[nodiscard]] bool readsAsCtc(const CtcReading& reading, const TargetRequest& request, const StartRequest& start);

/// The target of such a request: without a class the best one that is no blank, at a time step where it is the best of
/// all, if there is one; with a class its best time step; `time=T` (also `token=T`) names the step. Its note says how
/// the axes were read. Errors: as resolveTarget().
[[nodiscard]] base::Result<ResolvedTarget> resolveCtc(const CtcReading& reading, const TargetRequest& request,
                                                      const StartRequest& start, base::ValueId value,
                                                      const tensor::Tensor& known, const std::string& name);

/// "axis 1 … looks like time": of a reading that is not sure, and its target.
[[nodiscard]] std::string ctcHint(const CtcReading& reading, const std::string& name);

} // namespace retro::engine
