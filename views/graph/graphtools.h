// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "views/graph/graphcolouring.h"

#include <array>

class QComboBox;
class QHBoxLayout;
class QLabel;
class QToolButton;

namespace retro::views
{

/// Controls for the title of the graph's dock: what the boxes are coloured by, find, −, percentage, +, fit. In a row
/// that is too narrow first the words "Colour by" go, then its box (the menu of the graph has it too), then the
/// percentage.
class GraphTools final : public QWidget
{
    Q_OBJECT

public:
    explicit GraphTools(QWidget* parent = nullptr);
    void setZoom(double zoom);
    void setColourBy(ColourBy by);
    /// A graph in motion has segments for its direction, and a chip that takes up following again.
    void setInMotion(bool isInMotion);
    void setRunning(bool isSideways);
    void setFollowing(bool isFollowing);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    void colourByWanted(retro::views::ColourBy by);
    void findWanted();
    void zoomInWanted();
    void zoomOutWanted();
    void fitWanted();
    void runWanted(bool isSideways);
    void followWanted();

protected:
    /// Follows the row that it is put into.
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void addColourBy(QHBoxLayout& row);
    [[nodiscard]] int widthWithout(std::size_t dropped) const;
    void fitIntoRow();

    void addMotionTools();

    std::array<QWidget*, 3> m_droppable{}; ///< what goes first comes first
    QWidget* m_motionTools = nullptr;
    QToolButton* m_sideways = nullptr;
    QToolButton* m_down = nullptr;
    QToolButton* m_follow = nullptr;
    std::size_t m_dropped = 0;
    QComboBox* m_colourBy = nullptr;
    QLabel* m_percentage = nullptr;
};

} // namespace retro::views
