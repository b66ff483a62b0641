// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/language/residualstreams.h"
#include "core/execute/boundmodel.h"

#include <string>

namespace retro::engine
{

/// Residual streams and heads that a file names:
/// {"streams": ["value", …], "heads": [{"value": "…", "count": 32, "by_head": false}, …]}.
/// Errors (Input): the file, a value that the model does not have or that has not the axes of ResidualStreams.
[[nodiscard]] base::Result<ResidualStreams> readLanguageParts(const std::string& file,
                                                              const execute::BoundModel& model);

} // namespace retro::engine
