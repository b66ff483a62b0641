// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/viewcontext.h"

#include <stop_token>

namespace retro::app
{

/// A run for the window, for the engine thread to make: its timeline is open and everything that views need of it
/// (views::RunDerived) is there, so that the GUI thread has nothing to walk over. When the window lets go of it, it is
/// taken apart on a thread of the pool. Errors: the events contradict each other (Input); Cancelled.
[[nodiscard]] base::Result<views::RunHandle> makeHandle(std::shared_ptr<const trace::Run> run,
                                                        const std::stop_token& stop = {});

} // namespace retro::app
