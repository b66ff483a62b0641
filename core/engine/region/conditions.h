// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/model/programcache.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// The part of a value's relevance that a condition lets pass (docs/region.md).
struct ConditionSite
{
    base::ValueId value;
    tensor::Tensor mask; ///< of the value's shape, in the run's type
};

/// The sites of conditions as texts: VALUE:axis=1:3,7 (indices along an axis, ends included) or VALUE:mask=FILE.npy.
/// Several for one value are its union; the sites come in the order in which relevance meets them. Errors: Usage (no
/// such value, no such place; under ConditionForm::Only, values that lie on no common path), Input (a value that
/// carries no relevance, a file).
[[nodiscard]] base::Result<std::vector<ConditionSite>>
conditionSites(std::span<const std::string> texts, const execute::BoundModel& model, ConditionForm form);

/// What is prepared, with rules that see no more than the conditions let pass: ConditionForm::Beside. Errors: Input
/// (the value is an input, where relevance ends).
[[nodiscard]] base::Result<std::shared_ptr<const Prepared>> conditioned(const Prepared& prepared,
                                                                        std::span<const ConditionSite> sites);

/// One explanation after the other, each from where a condition starts it again: ConditionForm::Only. `explain` makes
/// an explanation without conditions. Errors: as explain(), Usage (no relevance reaches the value).
[[nodiscard]] base::Result<ExplainResult>
explainOnly(const ExplainRequest& request,
            const std::function<base::Result<ExplainResult>(const ExplainRequest&)>& explain);

/// Adds to a result what its conditions let pass, where ConditionForm::Beside was carried.
void noteConditions(std::span<const std::string> texts, std::span<const ConditionSite> sites, ExplainResult& result);

} // namespace retro::engine
