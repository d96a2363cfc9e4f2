/* cost.h: parameters, MACs, FLOPs and bytes of nodes: the cost rules of the operator table, and the function that
 * costs a whole network. */
#ifndef SOOTH_GRAPH_COST_H
#define SOOTH_GRAPH_COST_H

#include "graph/graph.h"
#include "graph/ops.h"

/* Fills macs, flops, params, weight_bytes and activation_bytes of every node, repeats included, and the totals. A
 * constant read by several nodes is counted at the first. */
void cost_network(sooth_model *model);

/* flops_per_element times the elements of the first output */
void cost_pointwise(network *net, node *n);
/* flops_per_element times the elements of the first input */
void cost_reduce(network *net, node *n);
void cost_conv(network *net, node *n);
void cost_conv_transpose(network *net, node *n);
void cost_pool(network *net, node *n); /* flops_per_element times window size times output elements */
void cost_resize(network *net, node *n);
void cost_lrn(network *net, node *n);
void cost_matmul(network *net, node *n); /* plain, Gemm, quantized, fused; flops_per_element is for the fused part */
void cost_det(network *net, node *n);
void cost_cdist(network *net, node *n);
void cost_moe(network *net, node *n);
void cost_attention(network *net, node *n);
void cost_recurrent(network *net, node *n);
void cost_linear_attention(network *net, node *n);
void cost_einsum(network *net, node *n);
/* Cost is unknown, because the work depends on data. */
void cost_unknown(network *net, node *n);

#endif
