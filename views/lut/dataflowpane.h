// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/lutdetail.h"
#include "views/common/widgets/drawnpane.h"
#include "views/lut/flowpicture.h"
#include "views/lut/lutrun.h"

#include <memory>
#include <optional>

namespace retro::views
{

class Theme;

/// The picture of a layer's data flow. The kernel at the cursor and its buffers stand out; those that ran before are
/// dark, those to come are pale.
class DataFlowPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit DataFlowPane(QWidget* parent = nullptr);

    /// Another layer or path; `passes` as schedules of it. `ran`: the launches are those of the run.
    void setLayer(std::vector<lut::Schedule> schedules, const std::vector<RunLaunch>& launches);
    /// How wide the picture may be, so that nothing must be scrolled sideways; kept where its boxes allow it.
    void setRoom(int width);
    /// Where the cursor stands. What buffers hold is forgotten when another launch becomes the current one.
    void setPosition(std::uint64_t position);
    /// What the buffers hold after the current launch; null = not known.
    void setBuffers(std::shared_ptr<const trace::LaunchDetail> buffers);
    /// "5 of 24 not 0, 0 to 78" of a buffer after the current launch; empty where nobody knows.
    [[nodiscard]] QString contentOf(const FlowBox& box) const;

    [[nodiscard]] const FlowPicture& picture() const { return m_picture; }
    /// The launch right before the cursor: pass in the picture and place; none elsewhere.
    [[nodiscard]] std::optional<RunLaunch> current() const { return m_current; }
    /// Where its kernel is in the picture; null without one.
    [[nodiscard]] QRectF currentRect() const;
    /// "choose_rows on stream 0: reads Input, Anchors; writes Lookup Indices".
    [[nodiscard]] QString sentence() const;
    /// Draws everything at (0, 0), as a file gets it.
    void paintAll(QPainter& painter) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    /// A kernel that ran was chosen.
    void launchChosen(std::uint64_t position);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    enum class State { Now, Done, ToCome };
    void lay();
    [[nodiscard]] std::optional<RunLaunch> launchOf(const FlowBox& box) const;
    [[nodiscard]] State stateOf(const FlowBox& box) const;
    [[nodiscard]] bool touchesCurrent(const FlowBox& box) const;
    [[nodiscard]] QString tipOf(const FlowBox& box) const;
    void paintEdge(QPainter& painter, const FlowEdge& edge, const Theme& colors) const;
    void paintKernel(QPainter& painter, const FlowBox& box, const Theme& colors) const;
    void paintBuffer(QPainter& painter, const FlowBox& box, const Theme& colors) const;
    void choose(std::uint64_t position);
    void step(int by);

    std::vector<lut::Schedule> m_schedules;
    std::vector<RunLaunch> m_launches;
    FlowPicture m_picture;
    int m_room = 0; ///< 0 = any
    std::uint64_t m_position = 0;
    std::optional<RunLaunch> m_current;
    std::shared_ptr<const trace::LaunchDetail> m_buffers; ///< after m_current
};

/// Words for the views of LUT layers.
[[nodiscard]] QString passWord(lut::Pass pass);
/// "f32 [16, 32, 64]".
[[nodiscard]] QString shapeWord(const lut::Buffer& buffer);
/// A name as Qt has it.
[[nodiscard]] QString textOf(std::string_view name);

} // namespace retro::views
