// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"
#include "core/ops/reference/window.h"

namespace retro::ops
{

/// strides, dilations, pads, auto_pad and ceil_mode of a node, checked: one entry per spatial axis (two for pads).
struct WindowAttributes
{
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    std::vector<std::int64_t> pads; ///< begins, then ends
    std::string autoPad;            ///< NOTSET, VALID, SAME_UPPER, SAME_LOWER
    bool isCeil = false;
};

/// Reads and checks the attributes for `count` spatial axes.
[[nodiscard]] base::Result<WindowAttributes> windowAttributes(const BindContext& context, std::size_t count);

/// Convolutions: attribute 'pads' only where auto_pad is NOTSET.
[[nodiscard]] base::Result<void> expectOnePadding(const BindContext& context);

/// Number of spatial axes of operand 0 (batch × channels × spatial …): 1 to 3, as many as the kernel has, all extents
/// small enough for every sum of them to fit. An error otherwise.
[[nodiscard]] base::Result<std::size_t> spatialAxes(const BindContext& context,
                                                    const std::vector<std::int64_t>& kernel);

/// The windows of a convolution or pooling over operand 0: how many fit, with pads by auto_pad where it asks. With
/// ceil_mode a last window may stick out, if it starts inside the image or its front padding.
[[nodiscard]] base::Result<std::vector<reference::WindowAxis>> windowsOver(const BindContext& context,
                                                                           const std::vector<std::int64_t>& kernel);

/// As windowsOver, for pooling: kernel from kernel_shape (whose type the caller has checked), and every pad smaller
/// than the window, so that each window sees the image.
[[nodiscard]] base::Result<std::vector<reference::WindowAxis>> poolWindows(const BindContext& context);

/// batch × channels × windows of operand 0; checked against kMaxElements. Windows that together read absurdly much, for
/// the operand and the result that there are, are an error.
[[nodiscard]] base::Result<tensor::Shape> pooledShape(const BindContext& context,
                                                      const std::vector<reference::WindowAxis>& axes);

/// One window over all spatial axes of operand 0, taken as one axis.
struct GlobalWindow
{
    reference::WindowAxis axis;
    tensor::Shape shape; ///< batch × channels × 1 …
};

/// The window of a global pooling; an error where there are no spatial axes.
[[nodiscard]] base::Result<GlobalWindow> globalWindow(const BindContext& context);

} // namespace retro::ops
