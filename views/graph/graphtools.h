// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;

namespace retro::views
{

/// Controls for the title of the graph's dock: find, −, percentage, +, fit.
class GraphTools final : public QWidget
{
    Q_OBJECT

public:
    explicit GraphTools(QWidget* parent = nullptr);
    void setZoom(double zoom);

signals:
    void findWanted();
    void zoomInWanted();
    void zoomOutWanted();
    void fitWanted();

private:
    QLabel* m_percentage = nullptr;
};

} // namespace retro::views
