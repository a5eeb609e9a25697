// Command fleet-client does what tools of others do with a fleet: by client-go, and by the library of SIG Multicluster that makes a
// configuration of a ClusterProfile.
//
//	fleet-client namespaces PROVIDERS PROFILE     names of the namespaces of the cluster that a ClusterProfile shows; both are files
//	fleet-client watch KUBECONFIG NAMESPACE       what an informer tells of the ConfigMaps of a namespace, a line each, until it is killed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

func main() {
	ctx := context.Background()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "namespaces":
		err = namespaces(ctx, args[1], args[2])
	case len(args) == 3 && args[0] == "watch":
		err = watch(ctx, args[1], args[2])
	default:
		err = fmt.Errorf("usage: fleet-client namespaces PROVIDERS PROFILE | watch KUBECONFIG NAMESPACE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func namespaces(ctx context.Context, providersFile, profileFile string) error {
	shown, err := os.ReadFile(profileFile)
	if err != nil {
		return err
	}
	var profile v1alpha1.ClusterProfile
	if err := json.Unmarshal(shown, &profile); err != nil {
		return err
	}
	providers, err := access.NewFromFile(providersFile)
	if err != nil {
		return err
	}
	config, err := providers.BuildConfigFromCP(&profile)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	found, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, namespace := range found.Items {
		fmt.Println(namespace.Name)
	}
	return nil
}

func watch(ctx context.Context, kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	tell := func(what string, object any) {
		if configMap, isOne := object.(*corev1.ConfigMap); isOne {
			fmt.Println(what, configMap.Name, configMap.ResourceVersion)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("changed", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	fmt.Println("synced")
	<-ctx.Done()
	return nil
}
